"""Which languages share a vocabulary, and how large each is."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

BASE = tuple("ar de en es fr it ja ko nl pl pt ru th tr zh".split())
"""Languages the base reads by itself (zh in both scripts)."""

STRIPPED = frozenset("lt lv et cs sk sl hr hu ro vi ca sv da no fi".split())
"""Languages people also type without diacritics; a share of their strings is learned in that form too."""

STRIPPED_SHARE = 0.15

_LETTERS = str.maketrans({"đ": "d", "ø": "o", "æ": "ae", "ł": "l", "ı": "i", "ð": "d"})


@dataclass(frozen=True)
class Group:
    """One new vocabulary."""

    name: str
    languages: tuple[str, ...]
    size: int
    """Pieces it is trained with."""
    kept: int
    """Pieces that are shipped: the most used."""


GROUPS = (
    Group("lt", ("lt",), 13_000, 13_000),
    Group("finno-baltic", ("lv", "et", "fi", "hu"), 9_000, 6_300),
    Group("nordic", ("sv", "da", "no"), 5_000, 3_500),
    Group("slavic", ("cs", "sk", "sl", "hr"), 8_000, 5_700),
    Group("romance", ("ro", "ca"), 4_000, 2_800),
    Group("cyrillic", ("bg", "uk"), 5_000, 3_500),
    Group("scripts", ("el", "he", "fa", "hi", "bn"), 9_500, 6_600),
    Group("vi", ("vi",), 2_500, 1_700),
)


def without_diacritics(text: str) -> str:
    """The text as typed on an English keyboard."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return bare.translate(_LETTERS)
