"""First rows for new pieces: IBM Model 1 aligns them with the base's English pieces, whose rows they average.

A piece's row is the mean of the English rows it generates from, weighted by expected count × idf, moved to the old table's
mean and stretched to its usual distance from it. Pieces without letters take the old row of the same text.
"""

from __future__ import annotations

import numpy as np

ROUNDS = 5
MOST_PIECES = 20
"""Longer strings say little about single pieces."""
NO_PIECE = 1 << 18


def translation_counts(new: list[list[int]], old: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected counts (new piece, old piece, count) over aligned strings after ROUNDS of expectation-maximisation."""
    chosen = [(f, e) for f, e in zip(new, old, strict=True) if 0 < len(f) <= MOST_PIECES and 0 < len(e) <= MOST_PIECES]
    f_lengths = np.array([len(f) for f, _ in chosen])
    e_lengths = np.array([len(e) for _, e in chosen])
    f_all = np.concatenate([np.array(f) for f, _ in chosen])
    e_all = np.concatenate([np.array(e) for _, e in chosen])
    # Every new piece meets every old piece of its string: `slot` numbers the new piece, `met` points at the old one.
    e_of_f = np.repeat(e_lengths, f_lengths)
    slot = np.repeat(np.arange(len(f_all)), e_of_f)
    begin_of_f = np.repeat(np.cumsum(e_lengths) - e_lengths, f_lengths)
    within = np.arange(len(slot)) - np.repeat(np.cumsum(e_of_f) - e_of_f, e_of_f)
    met = e_all[np.repeat(begin_of_f, e_of_f) + within]
    keys, place = np.unique(f_all[slot].astype(np.int64) * NO_PIECE + met, return_inverse=True)
    old_piece = keys % NO_PIECE
    table = np.ones(len(keys))
    for _ in range(ROUNDS):
        probability = table / np.bincount(old_piece, weights=table)[old_piece]
        weight = probability[place]
        weight /= np.bincount(slot, weights=weight)[slot]
        table = np.bincount(place, weights=weight, minlength=len(keys))
    return keys // NO_PIECE, old_piece, table


def first_rows(texts: list[str], new: list[list[int]], old: list[list[int]], table: np.ndarray, old_ids: dict[str, int], seed: int) -> np.ndarray:
    """Rows for the pieces `texts` (specials first: they take the base's)."""
    rng = np.random.default_rng(seed)
    ordinary = table[3:60_000]
    mean, length = ordinary.mean(0), np.linalg.norm(ordinary - ordinary.mean(0), axis=1).mean()
    frequency = np.bincount(np.concatenate([np.array(e) for e in old]), minlength=len(table)) + 1.0
    f, e, count = translation_counts(new, old)
    weight = count * np.log(frequency.sum() / frequency)[e]
    total = np.bincount(f, weights=weight, minlength=len(texts))
    rows = np.zeros((len(texts), 512), np.float64)
    for start in range(0, len(f), 200_000):
        part = slice(start, start + 200_000)
        edges = np.flatnonzero(np.diff(f[part], prepend=-1))
        rows[f[part][edges]] += np.add.reduceat(weight[part, None] * table[e[part]], edges, axis=0)
    seen = total > 0
    rows[seen] /= total[seen, None]
    off = rows[seen] - mean
    rows[seen] = mean + off * np.minimum(3, length / np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-6))
    rows[~seen] = mean + rng.normal(0, 0.01, (int((~seen).sum()), 512))
    for place, text in enumerate(texts):
        same = old_ids.get(text)
        if place < 3:
            rows[place] = table[place]
        elif same is not None and not any(c.isalpha() for c in text):
            rows[place] = table[same]
    return rows.astype(np.float32)
