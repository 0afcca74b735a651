"""Stages `second teacher`, `reach` and `entry`: how questions in any language come into the second encoder's space.

The second encoder reads English only, yet its vectors of (English) tools help every language, once the question has a vector in
the same space. Two ways lead there:

*Reach* is a ridge map from the first encoder's question vector, fitted on strings of all its languages.

*Entry* feeds the second encoder's frozen matrices from the first encoder's rows. IBM Model 1 aligns the first encoder's pieces,
in each of its 38 languages, with the second's English pieces; a map of 512 → 384 with one hidden layer is fitted to the aligned
rows, and then trained, together with biases, gains and positions of its own, so that a translation's vector comes to lie at the
second encoder's vector of its English side: 4 × (1 − cosine) plus 0.5 × InfoNCE over the batch at temperature 0.05.
"""

from __future__ import annotations


import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from . import align, batch, corpus, languages, parallel, quantise, second, second_batch
from .fast import FastEncoder
from .wordpiece import WordPiece

USE = {
    "en": 8, "lt": 7, "zh": 6, "de": 6, "es": 6, "ru": 5, "ja": 5, "fr": 5, "pt": 5, "pl": 5, "tr": 5, "it": 4, "ko": 4, "ar": 4,
    "nl": 3, "hi": 3, "uk": 3, "vi": 2, "cs": 2, "th": 1.5,
}  # fmt: skip
"""How many of the training strings are of a language, by how many people use it; OTHERS for those not named."""
OTHERS = 1.2
STRINGS = 60_000
"""Of a language, at most."""
ALIGNED = 30_000
"""Of these, at most, IBM Model 1 reads."""
MOST_PIECES = 24
HIDDEN = 768
BATCH, POOL = 256, 16
STEPS = 2_400
RATE, BODY_RATE = 1.0e-3, 4e-4
TEMPERATURE, CONTRAST = 0.05, 0.5
FIT_STEPS = 1_500
STRIPPED_SHARE = 0.12
REACH_STRINGS, REACH_RIDGE = 1_800, 0.03
"""Strings of each language and vocabulary, at most."""


def english(work: Path) -> list[str]:
    """Every English side of the pairs, the held-out strings left out, in a fixed order."""
    held = {text for rows in corpus.held(work).values() for text, _ in rows}
    return sorted({source for rows in parallel.load(work).values() for source, _ in rows} - held)


def teach(work: Path) -> np.ndarray:
    """The second encoder's vector, float16, of every English string; kept in WORK/second/teacher.npy. About 3 minutes."""
    folder = work / "second"
    folder.mkdir(exist_ok=True)
    target = folder / "teacher.npy"
    if not target.exists():
        model = second.read(work)
        wordpiece = WordPiece(model.pieces)
        ids = [wordpiece.rows(text, 62) for text in english(work)]
        vectors = second_batch.encode(second_batch.BatchBody(model.body, fast=True), model.rows, ids).astype(np.float16)
        np.save(folder / "teacher.partial.npy", vectors)
        (folder / "teacher.partial.npy").replace(target)
    return np.load(target)


@dataclass
class Strings:
    """What is learned from: row numbers of the first encoder (all vocabularies one after another, begin and end around)."""

    ids: list[np.ndarray]
    english: np.ndarray
    """The number of each one's English side."""
    part: np.ndarray
    """Which (language, vocabulary) each belongs to."""
    share: np.ndarray
    """How much of the training a part is, by its number."""
    weight: np.ndarray
    """How likely a string is drawn within its part: longer ones and questions more."""


def likelihood(text: str) -> float:
    """Strings of the length of a question count most, labels of one word least."""
    size = len(text)
    return (0.3 if size < 10 else 1.0 if size < 20 else 2.0) * (1.5 if text.rstrip().endswith(("?", "？")) else 1.0)


def strings(work: Path, encoder: FastEncoder, taken: dict[str, float], place_of: dict[str, int]) -> Strings:
    """Strings of every language, read by the vocabularies that would read them: `taken` says which share its own one takes."""
    every = parallel.load(work)
    number = {text: place for place, text in enumerate(english(work))}
    ids: list[np.ndarray] = []
    sides: list[int] = []
    parts: list[int] = []
    weights: list[float] = []
    share: list[float] = []
    rng = np.random.default_rng(5)
    new = [language for group in languages.GROUPS for language in group.languages]

    def add(language: str, rows: list[tuple[str, str]], place: int, amount: float) -> None:
        texts = [text if place == 0 else text.lower() for _, text in rows]
        size, offset = encoder._sizes[place], int(encoder._offsets[place])
        for (source, text), pieces in zip(rows, encoder._libraries[place].encode(texts), strict=True):
            if 0 < len(pieces) <= MOST_PIECES:
                body = [offset + (size if piece == 0 else piece - 3) for piece in pieces]
                ids.append(np.array([offset + size + 1, *body, offset + size + 2], np.int32))
                sides.append(number[source])
                parts.append(len(share))
                weights.append(likelihood(text))
        share.append(amount)

    for language in [*languages.BASE, *new]:
        if language == "en":
            rows = [(text, text) for text in number]
        else:
            rows = sorted(row for row in every[language] if row[0] in number)
        chosen = [rows[i] for i in sorted(rng.permutation(len(rows))[:STRINGS])]
        if language in languages.STRIPPED:
            for i in rng.choice(len(chosen), int(len(chosen) * STRIPPED_SHARE), replace=False):
                chosen[i] = (chosen[i][0], languages.without_diacritics(chosen[i][1]))
        own = taken.get(language, 0.0) if language in new else 0.0
        amount = USE.get(language, OTHERS)
        if own < 0.97:
            add(language, chosen, 0, amount * (1 - own))
        if own:
            add(language, chosen, place_of[language], amount * own if own < 0.97 else amount)
    return Strings(ids, np.array(sides), np.array(parts), np.array(share), np.array(weights, np.float32))


def aligned_rows(work: Path, data: Strings, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """For every row of the first encoder the mean of the second's rows its piece is aligned with, and how much says so."""
    model = second.read(work)
    wordpiece = WordPiece(model.pieces)
    target = [wordpiece.rows(text, 62)[1:-1] for text in english(work)]
    frequency = np.bincount(np.concatenate([np.array(one) for one in target]), minlength=len(model.rows)) + 1.0
    idf = np.log(frequency.sum() / frequency)
    total, sums = np.zeros(rows), np.zeros((rows, second.WIDTH))
    rng = np.random.default_rng(6)
    for part in range(len(data.share)):
        places = np.flatnonzero(data.part == part)
        places = np.sort(rng.permutation(places)[:ALIGNED])
        f, e, count = align.translation_counts([data.ids[i][1:-1] for i in places], [target[data.english[i]] for i in places])
        keep = count > 0.02
        f, e, count = f[keep], e[keep], count[keep]
        weight = count * idf[e]
        total += np.bincount(f, weights=weight, minlength=rows)
        for start in range(0, len(f), 100_000):
            cut = slice(start, start + 100_000)
            edges = np.flatnonzero(np.diff(f[cut], prepend=-1))
            sums[f[cut][edges]] += np.add.reduceat(weight[cut, None] * model.rows[e[cut]], edges, axis=0)
    seen = total > 0
    ordinary = model.rows[: len(model.pieces)]
    mean, length = ordinary.mean(0), np.linalg.norm(ordinary - ordinary.mean(0), axis=1).mean()
    out = np.zeros((rows, second.WIDTH), np.float32)
    off = sums[seen] / total[seen, None] - mean
    out[seen] = mean + off * np.minimum(3, length / np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-6))
    return out, total.astype(np.float32)


def reach(data: Strings, encoder: FastEncoder, teacher: np.ndarray) -> dict[str, np.ndarray]:
    """`reach` [384, 512] and its bias: a ridge map from the first encoder's vector of a string, in any of its languages, to the
    second's vector of the English side."""
    rng = np.random.default_rng(0)
    chosen: list[int] = []
    for part in range(len(data.share)):
        chosen += rng.permutation(np.flatnonzero((data.part == part) & (data.weight >= 1)))[:REACH_STRINGS].tolist()
    part = data.part[chosen]
    x = batch.encode(encoder._body, encoder.table, [data.ids[i] for i in chosen])
    x = np.concatenate([x, np.full((len(x), 1), 512**-0.5, np.float32)], 1).astype(np.float64)
    y = teacher[data.english[chosen]].astype(np.float64)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    weight = (data.share / np.bincount(part, minlength=len(data.share)))[part]
    weight *= len(weight) / weight.sum()
    pulled = x * weight[:, None]
    solved = np.linalg.solve(pulled.T @ x + np.eye(513) * len(x) * REACH_RIDGE / 512, pulled.T @ y)
    return {"reach": solved[:512].T.astype(np.float32), "reach.bias": (solved[512] * 512**-0.5).astype(np.float32)}


class Map(torch.nn.Module):
    """Rows of the first encoder to rows of the second."""

    def __init__(self, mean: np.ndarray, deviation: float) -> None:
        super().__init__()
        self.mean, self.deviation = torch.from_numpy(mean), deviation
        self.linear = torch.nn.Linear(512, second.WIDTH)
        self.hidden = torch.nn.Linear(512, HIDDEN)
        self.out = torch.nn.Linear(HIDDEN, second.WIDTH, bias=False)
        torch.nn.init.normal_(self.hidden.weight, 0, 512**-0.5)
        torch.nn.init.zeros_(self.hidden.bias)
        torch.nn.init.zeros_(self.out.weight)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        x = ((rows - self.mean) / self.deviation).bfloat16()

        def times(layer: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
            return F.linear(x, layer.weight.bfloat16(), None if layer.bias is None else layer.bias.bfloat16())

        return (times(self.linear, x) + times(self.out, torch.relu(times(self.hidden, x)))).float()


def fit(table: np.ndarray, target: np.ndarray, total: np.ndarray) -> Map:
    """The map that comes nearest to the aligned rows: ridge first, then its hidden layer with it."""
    torch.manual_seed(0)
    seen = np.flatnonzero(total > 0)
    weight = np.minimum(total[seen], 2_000) ** 0.5
    mean, deviation = table[seen].mean(0), float(table[seen].std())
    x = np.concatenate([(table[seen] - mean) / deviation, np.ones((len(seen), 1), np.float32)], 1)
    left = (x * weight[:, None]).T @ x
    solved = np.linalg.solve(left + np.eye(513) * 0.02 * np.trace(left) / 513, (x * weight[:, None]).T @ target[seen]).astype(np.float32)
    model = Map(mean, deviation)
    with torch.no_grad():
        model.linear.weight.copy_(torch.from_numpy(solved[:512].T))
        model.linear.bias.copy_(torch.from_numpy(solved[512]))
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
    rng = np.random.default_rng(0)
    chance = np.cumsum(weight / weight.sum())
    lost = 0.0
    for step in range(FIT_STEPS):
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 50) * max(0.02, 1 - step / FIT_STEPS)
        batch = seen[np.minimum(np.searchsorted(chance, rng.random(2048)), len(seen) - 1)]
        loss = ((model(torch.from_numpy(table[batch])) - torch.from_numpy(target[batch])) ** 2).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        lost += loss.item()
        if (step + 1) % 250 == 0:
            print(f"entry fit: {step + 1} of {FIT_STEPS}, squared distance {lost / 250:.3f}", flush=True)
            lost = 0.0
    return model


def parts_of(model: Map, body: second_batch.BatchBody) -> dict[str, np.ndarray]:
    """The entry's tensors, by the names of the packed file."""
    out = {
        "entry.mean": model.mean.numpy(),
        "entry.deviation": np.array([model.deviation], np.float32),
        "entry.linear": model.linear.weight,
        "entry.linear.bias": model.linear.bias,
        "entry.hidden": model.hidden.weight,
        "entry.hidden.bias": model.hidden.bias,
        "entry.out": model.out.weight,
        "entry.out.bias": np.zeros(second.WIDTH, np.float32),
    }
    out |= {f"entry.body.{name}": value for name, value in body.free.items()}
    return {name: (value.detach().numpy() if isinstance(value, torch.Tensor) else value).astype(np.float32) for name, value in out.items()}


def train(data: Strings, encoder: FastEncoder, teacher: np.ndarray, model: Map, body: second_batch.BatchBody, ends: np.ndarray, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Trains the map and the body's biases, gains and positions; `ends` are the rows of [CLS] and [SEP]."""
    rng = np.random.default_rng(1)
    table, targets = torch.from_numpy(encoder.table), torch.from_numpy(teacher)
    begin = np.zeros(len(encoder.table), np.int8)
    for offset, size in zip(encoder._offsets, encoder._sizes):
        begin[offset + size + 1], begin[offset + size + 2] = 1, 2
    begin = torch.from_numpy(begin)
    ends = torch.from_numpy(ends)
    inner = [*model.parameters()]
    outer = [value.requires_grad_(True) for value in body.free.values()]
    optimiser = torch.optim.Adam([{"params": inner, "own": RATE}, {"params": outer, "own": BODY_RATE}], lr=RATE, betas=(0.9, 0.98))
    weight = data.weight.copy()
    for part, share in enumerate(data.share):
        own = data.part == part
        weight[own] *= share / weight[own].sum()
    chance = np.cumsum(weight.astype(np.float64))
    chance /= chance[-1]
    lengths = np.array([len(one) for one in data.ids])
    began, cosine, loss_of, pool = time.monotonic(), 0.0, 0.0, []
    for step in range(steps):
        if not pool:
            drawn = np.minimum(np.searchsorted(chance, rng.random(BATCH * POOL)), len(chance) - 1)
            drawn = drawn[np.argsort(lengths[drawn] + rng.random(len(drawn)))]
            pool = [drawn[i * BATCH : (i + 1) * BATCH] for i in rng.permutation(POOL)]
        chosen = pool.pop()
        now = min(1, (step + 1) / 50) * max(0.03, 1 - step / steps)
        for group in optimiser.param_groups:
            group["lr"] = group["own"] * now
        numbers, real = second_batch.padded([data.ids[i] for i in chosen])
        touched, place = torch.unique(numbers, return_inverse=True)
        rows = model(table[touched])
        kind = begin[touched]
        rows = torch.where((kind == 1)[:, None], ends[0], torch.where((kind == 2)[:, None], ends[1], rows))
        vectors = body(F.embedding(place, rows), real)
        english = torch.from_numpy(data.english[chosen])
        wanted = F.normalize(targets[english].float(), dim=1)
        distance = (1 - (vectors * wanted).sum(1)).mean()
        same = english[:, None] == english[None]
        same.fill_diagonal_(False)
        contrast = F.cross_entropy((vectors @ wanted.T / TEMPERATURE).masked_fill(same, -1e4), torch.arange(len(chosen)))
        optimiser.zero_grad(set_to_none=True)
        (4 * distance + CONTRAST * contrast).backward()
        optimiser.step()
        cosine += 1 - distance.item()
        loss_of += contrast.item()
        if (step + 1) % 100 == 0:
            print(f"entry: {step + 1} of {steps}, cosine {cosine / 100:.4f}, contrast {loss_of / 100:.3f}, {(step + 1) * BATCH / (time.monotonic() - began):.0f} strings/s", flush=True)
            cosine = loss_of = 0.0
    return parts_of(model, body)


def run(work: Path, encoder: FastEncoder, routing: dict) -> dict[str, np.ndarray]:
    """Reach and entry by the names of the packed file, float32; kept in WORK/second. About 45 minutes of one core with nothing kept:
    each of the teacher, the first map, and the trained one is kept by itself."""
    folder = work / "second"
    targets = teach(work)
    if not ((folder / "reach.npz").exists() and (folder / "entry.npz").exists()):
        place_of = {language: encoder.names.index(group.name) for group in languages.GROUPS for language in group.languages}
        data = strings(work, encoder, routing["right"], place_of)
        _keep(folder / "reach.npz", reach(data, encoder, targets))
    if not (folder / "entry.npz").exists():
        source = second.read(work)
        body = second_batch.BatchBody({name: quantise.as_shipped(value) if value.ndim == 2 and name != "positions" else value for name, value in source.body.items()}, fast=True)
        if not (folder / "aligned.npz").exists():
            rows, total = aligned_rows(work, data, len(encoder.table))
            _keep(folder / "aligned.npz", {"rows": rows, "total": total})
        kept = np.load(folder / "aligned.npz")
        _keep(folder / "entry.npz", train(data, encoder, targets, fit(encoder.table, kept["rows"], kept["total"]), body, source.rows[-2:]))
    return dict(np.load(folder / "reach.npz")) | dict(np.load(folder / "entry.npz"))


def _keep(path: Path, arrays: dict[str, np.ndarray]) -> None:
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, **arrays)
    partial.replace(path)
