"""Stage `evidence`: which questions are English, told from their WordPiece pieces.

One number a piece, the log-odds English : another language in Latin letters, by logistic regression over the pairs' strings,
both sides; and one for every letter outside ASCII. English counts as much as all others together. A wrong answer costs little: an
English question then comes in through the entry, another language's through the second encoder's own pieces.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import torch

from . import corpus, languages, parallel, second
from .wordpiece import WordPiece

LATIN = tuple("de es fr it nl pl pt tr lt lv et fi hu sv da no cs sk sl hr ro ca vi".split())
EACH = 12_000
MOST_WORDS = 14
STEPS, BATCH = 2_500, 2_048
DECAY = 2e-6


def accents(text: str) -> int:
    """Letters outside ASCII in the text as written."""
    return sum(c > "\x7f" and unicodedata.category(c)[0] == "L" for c in text)


def fit(work: Path, model: second.Second) -> tuple[np.ndarray, dict[str, float]]:
    """`evidence` I8, one a row, and its `scale`, `bias` and `accent`."""
    rng = np.random.default_rng(8)
    every = parallel.load(work)
    held = {text for rows in corpus.held(work).values() for text, _ in rows}
    wordpiece = WordPiece(model.pieces)
    texts: list[tuple[str, bool]] = []

    def some(strings: set[str], count: int, is_english: bool) -> None:
        chosen = sorted(text for text in strings if 1 <= text.count(" ") < MOST_WORDS)
        for i in rng.permutation(len(chosen))[:count]:
            texts.append((chosen[i], is_english))
            if not is_english and rng.random() < 0.2:
                texts.append((languages.without_diacritics(chosen[i]), False))

    for language in LATIN:
        # A translation that stands among the English strings is a name or not translated.
        some({t for e, t in every[language] if e not in held and t != e} - {e for e, _ in every[language]}, EACH, False)
    some({e for language in LATIN for e, _ in every[language]} - held, EACH * len(LATIN), True)
    ids = [wordpiece.rows(text, 64)[1:-1] for text, _ in texts]
    flat = torch.from_numpy(np.concatenate([np.array(one, np.int64) for one in ids]))
    begins = np.cumsum([0, *map(len, ids)])
    accent = torch.tensor([float(accents(text)) for text, _ in texts])
    wanted = np.array([is_english for _, is_english in texts])
    weights, extra = torch.zeros(len(model.rows), requires_grad=True), torch.zeros(2, requires_grad=True)
    optimiser = torch.optim.Adam([weights, extra], lr=0.05)
    own, other = np.flatnonzero(wanted), np.flatnonzero(~wanted)
    for step in range(STEPS):
        optimiser.param_groups[0]["lr"] = 0.05 * max(0.02, 1 - step / STEPS)
        chosen = np.concatenate([rng.choice(own, BATCH // 2), rng.choice(other, BATCH // 2)])
        counts = torch.from_numpy(begins[chosen + 1] - begins[chosen])
        pieces = torch.cat([flat[begins[i] : begins[i + 1]] for i in chosen])
        text = torch.repeat_interleave(torch.arange(len(chosen)), counts)
        score = torch.zeros(len(chosen)).index_add(0, text, weights[pieces]) + extra[0] + extra[1] * accent[chosen]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(score, torch.from_numpy(wanted[chosen]).float()) + DECAY * (weights * weights).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = weights.detach().numpy()
    scale = float(np.abs(found).max() / 127)
    return np.round(found / scale).astype(np.int8), {"scale": scale, "bias": extra[0].item(), "accent": extra[1].item()}


def run(work: Path, model: second.Second) -> tuple[np.ndarray, dict[str, float]]:
    """As fit, kept in WORK/second/evidence.npz."""
    target = work / "second" / "evidence.npz"
    if not target.exists():
        codes, about = fit(work, model)
        partial = target.with_suffix(".partial.npz")
        np.savez(partial, codes=codes, **about)
        partial.replace(target)
    kept = np.load(target)
    return kept["codes"], {name: float(kept[name]) for name in ("scale", "bias", "accent")}


def is_english(evidence: np.ndarray, about: dict[str, float], rows: list[int], text: str) -> bool:
    """The test on a text's row numbers, begin and end among them; routing has its say before."""
    return about["scale"] * float(evidence[rows[1:-1]].astype(np.int64).sum()) + about["bias"] + about["accent"] * accents(text) > 0
