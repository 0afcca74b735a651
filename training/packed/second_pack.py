"""Stage `second`: puts the second encoder, its reach and its entry into `english.safetensors`.

Rows have three bits a weight: eight levels shared by all rows times a scale a row, both by least squares in turns. The body has
eight. Carrying errors on, as is done for the first encoder's rows, was worse here. What bits cost is in `docs/benchmarks.md`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import container, quantise
from .second import EPSILON, HEADS, LAYERS, WIDTH, Second

PIECES = 64
"""Of a tool or a question, at most."""
BITS = 3
ROUNDS = 8
WEIGHTS = {"english": {"text": 1.5, "reach": 0.5}, "other": {"reach": 0.3, "entry": 0.3}}
"""Of the second view's parts beside the first encoder's cosine of weight 1, for English questions and for others."""


def rows_to_codes(rows: np.ndarray, bits: int = BITS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes [n, 384], scales F16 [n] and levels: nearest levels, then scales, then levels, in turns."""
    levels = quantise.fit_levels(rows, 2**bits)
    scale = np.maximum(rows.std(1), 1e-4).astype(np.float16)
    for turn in range(ROUNDS):
        wide = scale.astype(np.float32)[:, None]
        codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, rows / wide).astype(np.uint8)
        if turn < ROUNDS - 1:
            value = levels[codes]
            scale = np.maximum((value * rows).sum(1) / (value * value).sum(1), 1e-4).astype(np.float16)
            wide = scale.astype(np.float32)[:, None] + np.zeros_like(rows)
            flat = codes.ravel()
            above = np.bincount(flat, weights=(rows * wide).ravel(), minlength=len(levels))
            levels = (above / np.bincount(flat, weights=(wide * wide).ravel(), minlength=len(levels))).astype(np.float32)
    return codes, scale, levels


def tensors_of(second: Second) -> dict[str, np.ndarray]:
    """Vocabulary, rows and body."""
    texts = [piece.encode() for piece in second.pieces]
    codes, scale, levels = rows_to_codes(second.rows)
    tensors = {
        "pieces": np.frombuffer(b"".join(texts), np.uint8),
        "lengths": np.array([len(text) for text in texts], np.uint8),
        "levels": levels,
        "rows": quantise.pack_codes(codes),
        "row_scale": scale,
    }
    return tensors | body_tensors(second.body)


def body_tensors(body: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Matrices at eight bits with a scale an output, positions in F16, the rest in F32."""
    tensors = {}
    for name, value in body.items():
        if name.endswith("positions"):
            tensors[name] = value.astype(np.float16)
        elif value.ndim == 2:
            tensors[name], tensors[f"{name}.scale"] = quantise.weights_to_int8(value)
        else:
            tensors[name] = value.astype(np.float32)
    return tensors


def write(path: Path, second: Second, parts: dict[str, np.ndarray], evidence: tuple[np.ndarray, dict[str, float]], base_digest: str, sources: list[dict]) -> None:
    """Writes the file. `parts` are reach and entry, in float32; `evidence` is the English test's."""
    n = len(second.pieces)
    container.write(
        path,
        tensors_of(second) | {"evidence": evidence[0]} | body_tensors(parts),
        {
            "format": 1,
            "dimensions": WIDTH,
            "layers": LAYERS,
            "heads": HEADS,
            "epsilon": EPSILON,
            "unknownRow": n,
            "beginRow": n + 1,
            "endRow": n + 2,
            "documentPieces": PIECES,
            "questionPieces": PIECES,
            "baseDigest": base_digest,
            "english": evidence[1],
            "weights": WEIGHTS,
            "sources": sources,
        },
        "second",
    )
