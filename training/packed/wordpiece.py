"""BERT's uncased tokenizer in plain Python: text to WordPiece pieces, equal to the `tokenizers` library (`second_fixtures.py`
holds it so). Names of special pieces inside a text are text here: a tool's description cannot put a [SEP] into the sequence.
"""

from __future__ import annotations

import unicodedata

LONGEST_WORD = 100
"""Characters; a longer word is one unknown piece."""
CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Each such character is a word. The library's ranges, the sixth beginning at U+2B920 as there."""


def is_control(c: str) -> bool:
    return c not in "\t\n\r" and unicodedata.category(c) in ("Cc", "Cf", "Co")


def is_punctuation(c: str) -> bool:
    return (c.isascii() and c.isprintable() and not c.isalnum() and c != " ") or unicodedata.category(c).startswith("P")


def normalise(text: str) -> str:
    """Clean text, spaces around CJK characters, accents stripped, lower case."""
    out = []
    for c in text:
        if c in "\0\ufffd" or is_control(c):
            continue
        if c.isspace() or c in "\t\n\r":
            out.append(" ")
        elif any(low <= ord(c) <= high for low, high in CJK):
            out.append(f" {c} ")
        else:
            out.append(c)
    decomposed = unicodedata.normalize("NFD", "".join(out))
    return "".join(lower(c) for c in decomposed if unicodedata.category(c) != "Mn")


def lower(c: str) -> str:
    """Character by character, as the library does: a final Σ is no special case."""
    return c.lower()


def words(text: str) -> list[str]:
    """Words and single punctuation characters of a normalised text."""
    out, word = [], ""
    for c in text:
        if c.isspace() or is_punctuation(c):
            if word:
                out.append(word)
            word = ""
            if not c.isspace():
                out.append(c)
        else:
            word += c
    return [*out, word] if word else out


class WordPiece:
    def __init__(self, pieces: list[str]) -> None:
        self.place = {piece: i for i, piece in enumerate(pieces)}
        self.unknown, self.begin, self.end = range(len(pieces), len(pieces) + 3)

    def word(self, word: str) -> list[int]:
        """The longest pieces from left to right; one unknown when any part of the word has none."""
        if len(word) > LONGEST_WORD:
            return [self.unknown]
        out, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                found = self.place.get(("##" if start else "") + word[start:end])
                if found is not None:
                    out.append(found)
                    start = end
                    break
            else:
                return [self.unknown]
        return out

    def rows(self, text: str, limit: int) -> list[int]:
        """Row numbers: begin, at most `limit` pieces, end."""
        pieces = [row for word in words(normalise(text)) for row in self.word(word)]
        return [self.begin, *pieces[:limit], self.end]
