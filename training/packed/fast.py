"""The packed file on whole batches: the SentencePiece library segments, PyTorch encodes. Ids equal the reference encoder's
(`fixtures.py` holds them so); used where many thousand texts are measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import sentencepiece

from . import batch, container, quantise, sentencepiece_file
from .sentencepiece_file import CONTROL, NORMAL, UNKNOWN, Model, Piece
from .unigram import SPACE, Normaliser

SPECIALS = [Piece("<unk>", 0, UNKNOWN), Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL)]


def pieces_of(tensors: dict[str, np.ndarray], name: str) -> list[str]:
    """The pieces of a packed vocabulary, in the order of their rows."""
    data, at, pieces = tensors[f"{name}.pieces"].tobytes(), 0, []
    for length in tensors[f"{name}.lengths"]:
        pieces.append(data[at : at + int(length)].decode())
        at += int(length)
    return pieces


def library(tensors: dict[str, np.ndarray], name: str, rest: bytes) -> sentencepiece.SentencePieceProcessor:
    """The SentencePiece library over one packed vocabulary: ids are rows + 3. `rest` is the base model's other fields."""
    normal = [Piece(text, float(score), NORMAL) for text, score in zip(pieces_of(tensors, name), tensors[f"{name}.scores"], strict=True)]
    return sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_file.serialise(Model([*SPECIALS, *normal], b"", rest)))


class FastEncoder:
    def __init__(self, path: Path, rest: bytes) -> None:
        tensors, self.packed = container.read(path)
        self.names = [entry["name"] for entry in self.packed["vocabularies"]]
        self.margins = np.array([entry.get("textMargin", self.packed["routing"]["textMargin"]) for entry in self.packed["vocabularies"][1:]])
        self.word_margin = self.packed["routing"]["wordMargin"]
        self._unknown = self.packed["routing"]["unknownCharacterScore"]
        self._normalise = Normaliser(tensors["charsmap"].tobytes())
        self._libraries = [library(tensors, name, rest) for name in self.names]
        self._scores = [tensors[f"{name}.scores"].astype(np.float64) for name in self.names]
        self._sizes = [len(scores) for scores in self._scores]
        self._offsets = np.cumsum([0, *(size + 3 for size in self._sizes)])
        tables = []
        for name in self.names:
            codes = quantise.unpack_codes(tensors[f"{name}.rows"])
            rows = tensors["levels"][codes]
            if f"{name}.fine" in tensors:
                fine = tensors[f"{name}.fine_rows"]
                rows[fine] = tensors["fine_levels"][codes[fine] * 2 + quantise.unpack_bits(tensors[f"{name}.fine"])]
            tables.append(rows * tensors[f"{name}.row_scale"].astype(np.float32)[:, None])
        self.table = np.concatenate(tables)
        weights = {
            name: tensor.astype(np.float32) * tensors[f"{name}.scale"][:, None] if f"{name}.scale" in tensors else tensor
            for name, tensor in tensors.items()
            if f"{name}.scale" in tensors or tensor.dtype == np.float32
        }
        self._body = batch.BatchBody(weights, self.packed["epsilon"])

    def _scored(self, place: int, text: str) -> tuple[list[int], float]:
        """Global rows and the routing score of a text in one vocabulary."""
        rows, score, size, offset = [], 0.0, self._sizes[place], int(self._offsets[place])
        for piece in self._libraries[place].encode(text, out_type="immutable_proto").pieces:
            if piece.id == 0:
                rows.append(offset + size)
                score += self._unknown * len(piece.piece)
            else:
                rows.append(offset + piece.id - 3)
                score += self._scores[place][piece.id - 3]
        return rows, score

    def text_margins(self, text: str) -> np.ndarray:
        """The margin of every new vocabulary over the base, a word."""
        lower = text.lower()
        words = max(1, self._normalise(lower).count(SPACE))
        base = self._scored(0, lower)[1]
        return np.array([(self._scored(place, lower)[1] - base) / words for place in range(1, len(self.names))])

    def route(self, text: str) -> int:
        """The place of the vocabulary a text goes to, 0 for the base."""
        if len(self.names) == 1:
            return 0
        margins = self.text_margins(text)
        passed = np.where(margins > self.margins, margins, -np.inf)
        return 0 if np.isneginf(passed).all() else int(passed.argmax()) + 1

    def ids(self, text: str, limit: int, place: int | None = None) -> list[int]:
        """Global rows of a text, begin and end around; `place` overrides the router."""
        won = self.route(text) if place is None else place
        if won == 0:
            rows = self._scored(0, text)[0]
        elif self.word_margin is None:
            rows = self._scored(won, text.lower())[0]
        else:
            rows = []
            for word in self._normalise(text.lower()).split(SPACE)[1:]:
                own, theirs = self._scored(won, word), self._scored(0, word)
                rows += theirs[0] if theirs[1] - own[1] > self.word_margin else own[0]
        begin = int(self._offsets[won]) + self._sizes[won] + 1
        return [begin, *rows[:limit], begin + 1]

    def encode(self, texts: list[str], limit: int | None = None, place: int | None = None) -> np.ndarray:
        limit = limit or self.packed["questionPieces"]
        return batch.encode(self._body, self.table, [self.ids(text, limit, place) for text in texts])

    def tools(self, texts: list[str]) -> np.ndarray:
        return self.encode(texts, self.packed["documentPieces"])
