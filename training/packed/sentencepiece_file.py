"""Reads and writes the few fields of a SentencePiece model file (a protocol buffer) that this pipeline needs.

ModelProto: 1 = pieces (1 text, 2 score as a float, 3 type), 2 = trainer specification, 3 = normaliser specification
(2 = precompiled charsmap). Fields that are not pieces are kept byte for byte, so a pruned model behaves as the whole one
does in the SentencePiece library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

NORMAL, UNKNOWN, CONTROL = 1, 2, 3


@dataclass(frozen=True)
class Piece:
    text: str
    score: float
    kind: int


@dataclass(frozen=True)
class Model:
    pieces: list[Piece]
    charsmap: bytes
    rest: bytes
    """Every field but the pieces, as it stood."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    """Every field as (number, value, its raw bytes)."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {wire} at byte {start} of a SentencePiece model")
        yield tag >> 3, value, data[start:at]


def parse(data: bytes) -> Model:
    """Reads a model file."""
    pieces: list[Piece] = []
    charsmap = rest = b""
    for number, value, raw in _fields(data):
        if number == 1:
            piece = {field: content for field, content, _ in _fields(value)}
            score = struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0
            pieces.append(Piece(piece[1].decode("utf-8"), score, piece.get(3, NORMAL)))
            continue
        if number == 3:
            charsmap = next((content for field, content, _ in _fields(value) if field == 2), b"")
        rest += raw
    return Model(pieces, charsmap, rest)


def _length(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes((number & 127 | 128,))
        number >>= 7
    return out + bytes((number,))


def serialise(model: Model) -> bytes:
    """Writes a model file, which the SentencePiece library opens."""
    out = []
    for piece in model.pieces:
        text = piece.text.encode("utf-8")
        body = b"\x0a" + _length(len(text)) + text + b"\x15" + struct.pack("<f", piece.score) + b"\x18" + bytes((piece.kind,))
        out.append(b"\x0a" + _length(len(body)) + body)
    return b"".join(out) + model.rest
