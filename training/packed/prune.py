"""Stage `prune`: which of the base's pieces stay.

A piece has two ranks: by its use in the clean parallel strings of the base's sixteen languages (zh in both scripts), where each
language weighs the same; and by its score in the base's own vocabulary, which knows everyday words that interface strings do
not hold. The better of the two decides. Every single character stays, so that no character becomes unknown.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import sentencepiece

from . import languages, parallel, sentencepiece_file
from .base import Base
from .sentencepiece_file import NORMAL, Piece
from .unigram import SPACE

KEPT = 100_000
"""Pieces that stay. 6,600 fewer would have left the second encoder its fourth bit a row, and cost 1.3 points of recall in twelve languages."""
FINE = 0
"""Of these the most used, which get a fourth bit. None: within the package's size, 9,000 more pieces found more tools than a
fourth bit for the 24,000 most used did (mean over thirteen languages of our own set .596 against .588, the model alone)."""


def use(work: Path, base: Base) -> tuple[np.ndarray, np.ndarray]:
    """(use, times seen) by piece id; kept in WORK/use.npy."""
    target = work / "use.npy"
    if not target.exists():
        processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_file.serialise(base.sentencepiece))
        every = parallel.load(work)
        total, seen = np.zeros(len(base.table)), np.zeros(len(base.table))
        for language in languages.BASE:
            if language == "en":
                texts = sorted({english for other in languages.BASE if other != "en" for english, _ in every[other]})
            else:
                texts = sorted({translation for _, translation in every[language]})
            count = Counter(piece for ids in processor.encode(texts) for piece in ids)
            for piece, n in count.items():
                total[piece] += n / count.total()
                seen[piece] += n
            print(f"use {language}: {len(texts)} strings, {count.total()} pieces, {len(count)} different", flush=True)
        partial = target.with_name("use.partial.npy")
        np.save(partial, np.stack([total, seen]))
        partial.replace(target)
    total, seen = np.load(target)
    return total, seen


def kept(work: Path, base: Base, most: int = KEPT) -> np.ndarray:
    """Ids that stay, ascending, the three specials first."""
    total, seen = use(work, base)
    pieces = base.sentencepiece.pieces
    n = len(pieces)
    normal = np.array([piece.kind == NORMAL for piece in pieces])
    single = np.array([len(piece.text.removeprefix(SPACE)) <= 1 for piece in pieces])
    score = np.array([piece.score for piece in pieces])
    by_use, by_score = np.empty(n), np.empty(n)
    by_use[np.argsort(-np.where(seen[:n] > 0, total[:n], score * 1e-6 - 1), kind="stable")] = np.arange(n)
    by_score[np.argsort(-score, kind="stable")] = np.arange(n)
    rank = np.where(single, 1.0, -np.minimum(by_use, by_score))
    order = np.argsort(-np.where(normal, rank, -np.inf), kind="stable")
    return np.array([0, 1, 2, *sorted(order[: min(most, int(normal.sum()))].tolist())])


def fine(work: Path, base: Base, kept_ids: np.ndarray, most: int = FINE) -> np.ndarray:
    """Of the kept ids those that are worth a fourth bit, the specials among them."""
    total, _ = use(work, base)
    return np.sort(kept_ids[np.argsort(-np.where(kept_ids < 3, np.inf, total[kept_ids]), kind="stable")[:most]])


def new_pieces(pieces: list[Piece], ids: list[list[int]], language: np.ndarray, most: int) -> np.ndarray:
    """Places of a new vocabulary's pieces that stay: specials, single characters, then the most used, languages weighing the same."""
    total = np.zeros(len(pieces))
    for place in np.unique(language):
        own = np.concatenate([np.array(ids[i], np.int64) for i in np.flatnonzero(language == place)])
        total += np.bincount(own, minlength=len(pieces)) / len(own)
    single = np.array([len(piece.text.removeprefix(SPACE)) <= 1 for piece in pieces])
    rank = np.where(single, np.inf, total)
    rank[:3] = -np.inf
    return np.array([0, 1, 2, *sorted(np.argsort(-rank, kind="stable")[:most].tolist())])
