"""Stage `rows`: trains the rows of every new vocabulary against the frozen base.

The vector of a translation is drawn to the base's vector of its English side: 4 × (1 − cosine) plus 0.5 × InfoNCE over the
batch at temperature 0.07. Only rows change, by an Adam that touches the rows of the batch alone. The number of steps is fixed;
float32 sums differ between processors in their last bits, so rows are not bit-reproducible across machines (README, "What is
reproducible").
"""

from __future__ import annotations

import time
import zlib
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F

from . import align, batch, corpus, languages, sentencepiece_file, vocabulary
from .base import Base

BATCH = 384
RATE = 0.01
TEMPERATURE = 0.07
CONTRAST = 0.5
MOST_PIECES = 30
STEPS = {"lt": 900, "finno-baltic": 220, "nordic": 150, "slavic": 220, "romance": 130, "cyrillic": 150, "scripts": 260, "vi": 100}
"""Steps a vocabulary; Lithuanian sees its 89 thousand strings about four times. More steps gain little: coverage is the limit."""


def folder(work: Path) -> Path:
    return work / "rows"


def strings(work: Path, group: languages.Group) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Lower-cased translations of a group, the number of each one's English side, and the place of its language."""
    pairs = corpus.pairs(work)
    rows = [(text.lower(), number, place) for place, language in enumerate(group.languages) for number, text in pairs[language]]
    rng = np.random.default_rng(zlib.crc32(group.name.encode()))
    for place, language in enumerate(group.languages):
        if language in languages.STRIPPED:
            own = pairs[language]
            for i in rng.choice(len(own), int(len(own) * languages.STRIPPED_SHARE), replace=False):
                rows.append((languages.without_diacritics(own[i][1].lower()), own[i][0], place))
    return [row[0] for row in rows], np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def first(work: Path, base: Base, group: languages.Group) -> np.ndarray:
    """The aligned rows of one vocabulary, kept in WORK/rows/NAME.first.npy."""
    target = folder(work) / f"{group.name}.first.npy"
    if target.exists():
        return np.load(target)
    old = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_file.serialise(base.sentencepiece))
    model, new = vocabulary.load(work, group.name)
    texts, number, _ = strings(work, group)
    english = corpus.english(work)
    ids = {piece.text: place for place, piece in enumerate(base.sentencepiece.pieces)}
    old_ids = old.encode(english)
    rows = align.first_rows([piece.text for piece in model.pieces], new.encode(texts), [old_ids[i] for i in number], base.table, ids, seed=0)
    np.save(target, rows)
    return rows


def train(work: Path, base: Base, group: languages.Group, steps: int | None = None, name: str | None = None) -> np.ndarray:
    """Trained rows of one vocabulary, kept in WORK/rows/NAME.npy."""
    folder(work).mkdir(exist_ok=True)
    target = folder(work) / f"{name or group.name}.npy"
    if target.exists():
        return np.load(target)
    rng = np.random.default_rng(0)
    table = torch.from_numpy(first(work, base, group))
    _, processor = vocabulary.load(work, group.name)
    texts, number, language = strings(work, group)
    teacher = torch.from_numpy(np.load(work / "corpus" / "teacher.npy"))
    ids = [np.array([1, *pieces, 2], np.int64) for pieces in processor.encode(texts)]
    fit = np.array([i for i, one in enumerate(ids) if 2 < len(one) <= MOST_PIECES + 2])
    share = 1 / np.bincount(language[fit])[language[fit]]
    chance = np.cumsum(share / share.sum())
    body = batch.BatchBody(base.body, base.epsilon, fast=True)
    first_moment, second_moment, count = torch.zeros_like(table), torch.zeros_like(table), torch.zeros(len(table), 1)
    steps = steps or STEPS[group.name]
    began, cosine = time.monotonic(), 0.0
    for step in range(steps):
        rate = RATE * min(1, (step + 1) / 30) * max(0.03, 1 - step / steps)
        chosen = fit[np.minimum(np.searchsorted(chance, rng.random(BATCH)), len(fit) - 1)]
        flat = torch.from_numpy(np.concatenate([ids[i] for i in chosen]))
        lengths = torch.tensor([len(ids[i]) for i in chosen])
        touched, place = torch.unique(flat, return_inverse=True)
        part = table[touched].requires_grad_(True)
        vectors = body(part[place], lengths)
        english = torch.from_numpy(number[chosen])
        wanted = F.normalize(teacher[english].float(), dim=1)
        distance = (1 - (vectors * wanted).sum(1)).mean()
        same = english[:, None] == english[None]
        same.fill_diagonal_(False)
        contrast = F.cross_entropy((vectors @ wanted.T / TEMPERATURE).masked_fill(same, -1e4), torch.arange(BATCH))
        (4 * distance + CONTRAST * contrast).backward()
        gradient = part.grad
        gradient[touched < 3] = 0
        with torch.no_grad():
            count[touched] += 1
            n = count[touched]
            first_moment[touched] = m = first_moment[touched] * 0.9 + gradient * 0.1
            second_moment[touched] = v = second_moment[touched] * 0.99 + gradient * gradient * 0.01
            table[touched] -= rate * (m / (1 - 0.9**n)) / ((v / (1 - 0.99**n)).sqrt() + 1e-8)
        cosine += 1 - distance.item()
        if (step + 1) % 20 == 0:
            print(f"rows {group.name}: {step + 1} of {steps}, cosine {cosine / 20:.3f}, {(step + 1) * BATCH / (time.monotonic() - began):.0f} pairs/s", flush=True)
            cosine = 0.0
    np.save(target.with_name(target.stem + ".partial.npy"), table.numpy())
    target.with_name(target.stem + ".partial.npy").replace(target)
    return table.numpy()
