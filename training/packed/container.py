"""The packed file: a safetensors container (8 bytes of header length, JSON header, data) with one metadata key: `packed` in
the first encoder's file, `second` in the second's."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np

TYPES = {"F32": np.float32, "F16": np.float16, "U8": np.uint8, "U32": np.uint32, "I8": np.int8}


def write(path: Path, tensors: dict[str, np.ndarray], about: dict, key: str = "packed") -> None:
    """Writes the file and puts it in place at once. Tensors keep their order; data begins at a multiple of 64 bytes."""
    names = {np.dtype(value): key for key, value in TYPES.items()}
    header: dict[str, object] = {"__metadata__": {key: json.dumps(about, sort_keys=True, ensure_ascii=False)}}
    at = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())
    os.replace(partial, path)


def read(path: Path, key: str = "packed") -> tuple[dict[str, np.ndarray], dict]:
    """Tensors and metadata of a packed file."""
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    about = json.loads(header.pop("__metadata__")[key])
    tensors = {}
    for name, entry in header.items():
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[start:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, about
