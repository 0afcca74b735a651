"""The slow plain twin of the tokenizer: charsmap normalisation and Unigram segmentation as SentencePiece 0.2 does them.

Everything here reads the packed file's tensors and is held equal to the SentencePiece library by `fixtures.py`. What a port has
to copy to the bit: path scores are summed in double precision and rounded to float32 at every node; a candidate replaces
the best so far only when it is greater; the unknown edge (lowest score − 10) exists only where no piece of one character
begins; neighbouring unknowns count as one piece.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

import numpy as np

SPACE = "▁"
UNKNOWN_PENALTY = 10.0
UNKNOWN = -1
"""The place of an unknown among `Segment.row`s; callers put the vocabulary's unknown row there."""


class Normaliser:
    """nmt_nfkc by its precompiled charsmap: a double-array trie over UTF-8 bytes and NUL-ended replacements."""

    def __init__(self, charsmap: bytes) -> None:
        size = struct.unpack_from("<I", charsmap)[0]
        self._units = struct.unpack_from(f"<{size // 4}I", charsmap, 4)
        self._pool = charsmap[4 + size :]

    def _prefix(self, text: bytes, at: int) -> tuple[bytes, int]:
        """The replacement of the longest key at `at`, and the bytes it takes; one character as it is when there is none."""
        units = self._units
        node = units[0] >> 10 << ((units[0] & 512) >> 6)
        taken, value = 0, 0
        for i in range(at, len(text)):
            node ^= text[i]
            unit = units[node]
            if unit & 0x800000FF != text[i]:
                break
            node ^= unit >> 10 << ((unit & 512) >> 6)
            if unit & 256:
                taken, value = i + 1 - at, units[node] & 0x7FFFFFFF
        if taken:
            return self._pool[value : self._pool.index(b"\0", value)], taken
        first = text[at]
        length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        return text[at : at + length], length

    def __call__(self, text: str) -> str:
        """Normalised text: every run of spaces one `▁`, one before the first word, none at the end; empty stays empty."""
        data = text.encode("utf-8", "replace")
        out = bytearray()
        at = 0
        while at < len(data):
            piece, taken = self._prefix(data, at)
            out += piece
            at += taken
        words = [word for word in out.decode("utf-8").split(" ") if word]
        # The library takes spaces off the end after they became ▁, so a ▁ that stood in the text at its end goes as well.
        return "".join(SPACE + word for word in words).rstrip(SPACE)


@dataclass(frozen=True)
class Segment:
    row: int
    """The piece's row, or UNKNOWN."""
    length: int
    """Characters of the normalised text."""
    score: float


class Unigram:
    """One vocabulary: pieces in bytewise order with their log-probabilities."""

    def __init__(self, pieces: list[str], scores: np.ndarray) -> None:
        self._rows = {piece: row for row, piece in enumerate(pieces)}
        self._scores = scores.tolist()
        self._unknown = float(np.float32(min(self._scores)) - np.float32(UNKNOWN_PENALTY))
        self._longest = max(map(len, pieces))

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], name: str) -> Unigram:
        data, at, pieces = tensors[f"{name}.pieces"].tobytes(), 0, []
        for length in tensors[f"{name}.lengths"]:
            pieces.append(data[at : at + int(length)].decode("utf-8"))
            at += int(length)
        return cls(pieces, tensors[f"{name}.scores"])

    def segment(self, text: str) -> list[Segment]:
        """The best path through normalised text, neighbouring unknowns fused."""
        n = len(text)
        best = array("f", bytes(4 * (n + 1)))
        start, row = [-1] * (n + 1), [UNKNOWN] * (n + 1)
        for i in range(n):
            so_far, single = best[i], False
            for j in range(i + 1, min(n, i + self._longest) + 1):
                found = self._rows.get(text[i:j])
                if found is None:
                    continue
                single |= j == i + 1
                candidate = self._scores[found] + so_far
                if start[j] < 0 or candidate > best[j]:
                    best[j], start[j], row[j] = candidate, i, found
            if not single:
                candidate = float(np.float32(self._unknown) + np.float32(so_far))
                if start[i + 1] < 0 or candidate > best[i + 1]:
                    best[i + 1], start[i + 1], row[i + 1] = candidate, i, UNKNOWN
        out: list[Segment] = []
        at = n
        while at > 0:
            length, found = at - start[at], row[at]
            if found == UNKNOWN and out and out[-1].row == UNKNOWN:
                out[-1] = Segment(UNKNOWN, out[-1].length + length, 0.0)
            else:
                out.append(Segment(found, length, self._scores[found] if found >= 0 else 0.0))
            at = start[at]
        return out[::-1]

    def score(self, segments: list[Segment], unknown_character: float) -> float:
        """Sum of the pieces' scores in double precision; an unknown counts `unknown_character` for each of its characters."""
        return sum(part.score if part.row != UNKNOWN else unknown_character * part.length for part in segments)
