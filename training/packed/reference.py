"""A plain numpy encoder that reads the packed file and nothing else: the figures of every other runtime are held to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import container, quantise
from .base import ORDERS
from .unigram import SPACE, UNKNOWN, Normaliser, Segment, Unigram


@dataclass(frozen=True)
class Vocabulary:
    name: str
    unigram: Unigram
    rows: np.ndarray
    """Float32 [n + 3, 512]; unknown, begin and end are the last three."""
    unknown: int
    begin: int
    end: int
    text_margin: float


@dataclass(frozen=True)
class Tokens:
    """What a text became: the vocabulary that won, and (place of a vocabulary, row) for begin, pieces, end."""

    vocabulary: str
    rows: list[tuple[int, int]]


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + epsilon) * gain + bias


class Body:
    """The encoder without its table, float32. Weights are [out, in]."""

    def __init__(self, weights: dict[str, np.ndarray], epsilon: float) -> None:
        self._w, self._epsilon = weights, epsilon

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """A unit vector of 512 for the rows [n, 512] of one text, n ≥ 2."""
        w, n = self._w, len(rows)
        x = layer_norm(rows @ w["projection"].T + w["projection.bias"], w["projection_norm.gain"], w["projection_norm.bias"], self._epsilon)
        features = [rows]
        for place, k in enumerate(ORDERS):
            left = 0 if k == 2 else k // 2

            def convolve(v: np.ndarray, name: str, k: int = k, left: int = left) -> np.ndarray:
                padded = np.concatenate([np.zeros((left, 256), np.float32), v, np.zeros((k - 1 - left, 256), np.float32)])
                windows = np.concatenate([padded[i : i + n] for i in range(k)], axis=1)
                return np.maximum(windows @ w[name].T + w[f"{name}.bias"], 0) + v

            features.append(convolve(convolve(x[:, place * 256 : place * 256 + 256], f"conv{k}a"), f"conv{k}b"))
        joint = layer_norm(np.concatenate(features, axis=1), w["joint_norm.gain"], w["joint_norm.bias"], self._epsilon)
        pooled = (w["pool"] @ joint.sum(0) + n * w["pool.bias"]) / np.float32(np.sqrt(n))
        y0 = np.maximum(w["dense0"] @ pooled, 0)
        y1 = np.maximum(w["skip1"] @ pooled + w["dense1"] @ y0, 0)
        y2 = np.maximum(w["dense2"] @ y1, 0)
        z = np.tanh(w["skip3"] @ y1 + w["dense3"] @ y2)
        return (z / np.sqrt(max(float(z @ z), self._epsilon))).astype(np.float32)


class Encoder:
    """The packed file, opened: `tokens` and `encode`."""

    def __init__(self, path: Path) -> None:
        tensors, self.packed = container.read(path)
        self._normalise = Normaliser(tensors["charsmap"].tobytes())
        levels = tensors["levels"]
        self.vocabularies = []
        for entry in self.packed["vocabularies"]:
            name = entry["name"]
            codes = quantise.unpack_codes(tensors[f"{name}.rows"])
            rows = levels[codes]
            if f"{name}.fine" in tensors:
                fine = tensors[f"{name}.fine_rows"]
                rows[fine] = tensors["fine_levels"][codes[fine] * 2 + quantise.unpack_bits(tensors[f"{name}.fine"])]
            rows *= tensors[f"{name}.row_scale"].astype(np.float32)[:, None]
            margin = entry.get("textMargin", self.packed["routing"]["textMargin"])
            self.vocabularies.append(
                Vocabulary(name, Unigram.from_tensors(tensors, name), rows, entry["unknownRow"], entry["beginRow"], entry["endRow"], margin)
            )
        weights = {}
        for name, tensor in tensors.items():
            if f"{name}.scale" in tensors:
                weights[name] = tensor.astype(np.float32) * tensors[f"{name}.scale"][:, None]
            elif tensor.dtype == np.float32:
                weights[name] = tensor
        self._body = Body(weights, self.packed["epsilon"])

    def _words(self, vocabulary: Vocabulary, segments: list[Segment], text: str) -> list[list[Segment]]:
        """The segments of every word; a word begins where ▁ stands. An unknown that runs over a ▁ stays with the word it began in."""
        words: list[list[Segment]] = []
        at = 0
        for part in segments:
            if text[at] == SPACE or not words:
                words.append([])
            words[-1].append(part)
            at += part.length
        return words

    def tokens(self, text: str, limit: int) -> Tokens:
        """Routes and segments a text; at most `limit` pieces between begin and end."""
        routing = self.packed["routing"]
        unknown_character = routing["unknownCharacterScore"]
        base = self.vocabularies[0]
        best, won = None, 0
        if len(self.vocabularies) > 1:
            lower = self._normalise(text.lower())
            count = max(1, lower.count(SPACE))
            base_lower = base.unigram.segment(lower)
            base_score = base.unigram.score(base_lower, unknown_character)
            greatest = -np.inf
            for place, vocabulary in enumerate(self.vocabularies[1:], 1):
                segments = vocabulary.unigram.segment(lower)
                margin = (vocabulary.unigram.score(segments, unknown_character) - base_score) / count
                if margin > vocabulary.text_margin and margin > greatest:
                    greatest, best, won = margin, segments, place
        if best is None:
            pieces = [(0, part.row) for part in base.unigram.segment(self._normalise(text))]
            return self._finish(0, pieces, limit)
        vocabulary = self.vocabularies[won]
        word_margin = routing["wordMargin"]
        if word_margin is None:
            return self._finish(won, [(won, part.row) for part in best], limit)
        pieces = []
        for word in lower.split(SPACE)[1:]:
            own = vocabulary.unigram.segment(SPACE + word)
            theirs = base.unigram.segment(SPACE + word)
            difference = base.unigram.score(theirs, unknown_character) - vocabulary.unigram.score(own, unknown_character)
            pieces += [(0, part.row) for part in theirs] if difference > word_margin else [(won, part.row) for part in own]
        return self._finish(won, pieces, limit)

    def _finish(self, won: int, pieces: list[tuple[int, int]], limit: int) -> Tokens:
        """Cuts, puts begin and end around, and names the unknown rows."""
        rows = [(v, self.vocabularies[v].unknown if row == UNKNOWN else row) for v, row in pieces[:limit]]
        vocabulary = self.vocabularies[won]
        return Tokens(vocabulary.name, [(won, vocabulary.begin), *rows, (won, vocabulary.end)])

    def encode(self, tokens: Tokens) -> np.ndarray:
        """512 float32 of length 1."""
        return self._body(np.stack([self.vocabularies[v].rows[row] for v, row in tokens.rows]))

    def question(self, text: str) -> Tokens:
        return self.tokens(text, self.packed["questionPieces"])

    def document(self, text: str) -> Tokens:
        return self.tokens(text, self.packed["documentPieces"])
