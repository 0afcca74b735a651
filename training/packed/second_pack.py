"""Stage `second`: puts the second encoder, its reach and its entry into `english.safetensors`.

Rows have four bits a weight: sixteen Lloyd-Max levels shared by all rows times a scale a row, set by least squares. The body has
eight. Against float32, mean cosine of 1,000 tools and English questions .9957, of the body's eight bits alone .9996. Carrying
errors on, as is done for the first encoder's rows, was worse here (.9940), and three bits gave .9911.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import container, quantise
from .second import EPSILON, HEADS, LAYERS, WIDTH, Second

PIECES = 64
"""Of a tool or a question, at most."""
ROUNDS = 4
WEIGHTS = {"english": {"text": 1.0, "reach": 0.5}, "other": {"reach": 0.5}}
"""Of the second view's parts beside the first encoder's cosine of weight 1, for English questions and for others."""


def rows_to_codes(rows: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes [n, 384] and scales F16 [n]: the nearest levels, the scale by least squares, in turns."""
    edges = (levels[1:] + levels[:-1]) / 2
    scale = np.maximum(rows.std(1), 1e-4).astype(np.float16)
    for turn in range(ROUNDS):
        codes = np.searchsorted(edges, rows / scale.astype(np.float32)[:, None]).astype(np.uint8)
        if turn < ROUNDS - 1:
            value = levels[codes]
            scale = np.maximum((value * rows).sum(1) / (value * value).sum(1), 1e-4).astype(np.float16)
    return codes, scale


def pack_nibbles(codes: np.ndarray) -> np.ndarray:
    """Four-bit codes, two a byte, the first in the low half."""
    return codes[:, 0::2] | codes[:, 1::2] << 4


def tensors_of(second: Second) -> dict[str, np.ndarray]:
    """Vocabulary, rows and body."""
    texts = [piece.encode() for piece in second.pieces]
    levels = quantise.fit_levels(second.rows, 16)
    codes, scale = rows_to_codes(second.rows, levels)
    tensors = {
        "pieces": np.frombuffer(b"".join(texts), np.uint8),
        "lengths": np.array([len(text) for text in texts], np.uint8),
        "levels": levels,
        "rows": pack_nibbles(codes),
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
