"""The second encoder in plain numpy: reads the packed file and nothing else; every other runtime is held to it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from . import container, quantise
from .reference import layer_norm
from .second import EPSILON, HEADS, LAYERS, WIDTH
from .wordpiece import WordPiece

_erf = np.frompyfunc(math.erf, 1, 1)


def gelu(x: np.ndarray) -> np.ndarray:
    """The exact one, by the error function."""
    return (x * (0.5 * (1 + _erf(x / math.sqrt(2)).astype(np.float32)))).astype(np.float32)


class Body:
    """The transformer, float32. Weights are [out, in]; 1/√32 is already in the weights and biases of the queries."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self._w = weights

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """A unit vector of 384 for the rows [n, 384] of one text."""
        w, n = self._w, len(rows)

        def norm(x: np.ndarray, name: str) -> np.ndarray:
            return layer_norm(x, w[f"{name}.gain"], w[f"{name}.bias"], EPSILON)

        def linear(x: np.ndarray, name: str) -> np.ndarray:
            return x @ w[name].T + w[f"{name}.bias"]

        x = norm(rows + w["positions"][:n], "embedding_norm")
        for layer in range(LAYERS):
            name = f"layer{layer}."
            q, k, v = linear(x, f"{name}qkv").reshape(n, 3, HEADS, WIDTH // HEADS).transpose(1, 2, 0, 3)
            scores = q @ k.transpose(0, 2, 1)
            weight = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (weight / weight.sum(-1, keepdims=True)) @ v
            x = norm(linear(mixed.transpose(1, 0, 2).reshape(n, WIDTH), f"{name}out") + x, f"{name}attention_norm")
            x = norm(linear(gelu(linear(x, f"{name}up")), f"{name}down") + x, f"{name}output_norm")
        total = x.sum(0)
        return (total / np.sqrt(total @ total)).astype(np.float32)


def unit(x: np.ndarray) -> np.ndarray:
    return (x / np.sqrt((x * x).sum(-1, keepdims=True))).astype(np.float32)


class Second:
    """The packed file, opened."""

    def __init__(self, path: Path) -> None:
        tensors, self.about = container.read(path, "second")
        weights = {}
        for name, tensor in tensors.items():
            if f"{name}.scale" in tensors:
                weights[name] = tensor.astype(np.float32) * tensors[f"{name}.scale"][:, None]
            elif tensor.dtype in (np.float32, np.float16):
                weights[name] = tensor.astype(np.float32)
        self._w = weights
        data, at, pieces = tensors["pieces"].tobytes(), 0, []
        for length in tensors["lengths"]:
            pieces.append(data[at : at + int(length)].decode())
            at += int(length)
        self.wordpiece = WordPiece(pieces)
        self.rows = weights["levels"][quantise.unpack_codes(tensors["rows"], WIDTH)] * weights["row_scale"][:, None]
        self._body = Body(weights)
        own = {name.removeprefix("entry.body."): value for name, value in weights.items() if name.startswith("entry.body.")}
        self._entry_body = Body(weights | own)

    def document(self, text: str) -> np.ndarray:
        return self._body(self.rows[self.wordpiece.rows(text, self.about["documentPieces"])])

    def english(self, text: str) -> np.ndarray:
        """The vector of an English question."""
        return self._body(self.rows[self.wordpiece.rows(text, self.about["questionPieces"])])

    def reach(self, vector: np.ndarray) -> np.ndarray:
        """The first encoder's vector of a question, brought into this encoder's space."""
        return unit(self._w["reach"] @ vector + self._w["reach.bias"])

    def entry_rows(self, rows: np.ndarray) -> np.ndarray:
        """The first encoder's rows [n, 512] of a text, begin and end among them, as rows [n, 384] of this encoder's body."""
        w = self._w
        x = (rows - w["entry.mean"]) / w["entry.deviation"]
        inner = np.maximum(x @ w["entry.hidden"].T + w["entry.hidden.bias"], 0)
        out = x @ w["entry.linear"].T + w["entry.linear.bias"] + inner @ w["entry.out"].T + w["entry.out.bias"]
        out[0], out[-1] = self.rows[self.wordpiece.begin], self.rows[self.wordpiece.end]
        return out.astype(np.float32)

    def entry(self, rows: np.ndarray) -> np.ndarray:
        """The vector of a question in any language, from the first encoder's rows of it."""
        return self._entry_body(self.entry_rows(rows))
