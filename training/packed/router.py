"""Stage `routing`: how far a new vocabulary must beat the base before it gets a text.

Margins are set together, on a grid of 0.25, by STRINGS short strings (6–24 characters) of each of the base's languages. Each begins
where its vocabulary takes no more than SHARE (SHARE_ALONE) of any language's. Then the Lithuanian one is lowered as far as no
language loses more than TOGETHER of its strings to all vocabularies; and after it, one step after another, the one that lets most
strings of its own languages in (with and without diacritics) for what it takes. 2 % is promised, TOGETHER leaves room for chance.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

from . import corpus, languages, parallel
from .fast import FastEncoder

SHARE = 0.008
SHARE_ALONE = 0.016
"""For a vocabulary whose script no other new one has: nothing adds to what it takes."""
ALONE = frozenset({"cyrillic", "scripts"})
TOGETHER = 0.0187
STRINGS = 3_600
GRID = np.arange(1.5, 24.01, 0.25)
STEPS = (0.25, 0.5, 1.0, 2.0)


def short_strings(work: Path) -> dict[str, list[str]]:
    """Distinct strings of 6–24 characters in each language of the base; English ones are the sources of the pairs."""
    every = parallel.load(work)
    out = {}
    for language in languages.BASE:
        if language == "en":
            texts = {english for other in languages.BASE if other != "en" for english, _ in every[other]}
        else:
            texts = {translation for _, translation in every[language]}
        rng = random.Random(language)
        chosen = sorted(text for text in texts if 6 <= len(text) <= 24)
        out[language] = rng.sample(chosen, min(STRINGS, len(chosen)))
    return out


def shares(margins: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Which vocabulary (from 0) gets each text, -1 the base; `margins` [texts, vocabularies]."""
    passed = np.where(margins > chosen, margins, -np.inf)
    return np.where(np.isfinite(passed.max(1)), passed.argmax(1), -1)


def own_strings(work: Path, encoder: FastEncoder) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Margins of every new language's held-out strings, as written and without diacritics."""
    held = corpus.held(work)
    written, bare = {}, {}
    for group in languages.GROUPS:
        for language in group.languages:
            texts = [translation for _, translation in held[language]]
            written[language] = np.array([encoder.text_margins(text) for text in texts])
            if language in languages.STRIPPED:
                bare[language] = np.array([encoder.text_margins(languages.without_diacritics(text)) for text in texts])
    return written, bare


def set_margins(names: list[str], first: dict[str, np.ndarray], written: dict[str, np.ndarray], bare: dict[str, np.ndarray]) -> np.ndarray:
    """Margins for the vocabularies `names`, by the strings of the base's languages (`first`) and of the new ones."""
    place_of = {language: names.index(group.name) for group in languages.GROUPS for language in group.languages}
    margins = np.empty(len(names))
    for place, name in enumerate(names):
        worst = np.array([max((m[:, place] > t).mean() for m in first.values()) for t in GRID])
        share = SHARE_ALONE if name in ALONE else SHARE
        margins[place] = GRID[np.argmax(worst <= share)] if (worst <= share).any() else GRID[-1]

    def let_in(chosen: np.ndarray) -> float:
        total = 0.0
        for language, place in place_of.items():
            forms = [written[language], *([bare[language]] if language in bare else [])]
            total += float(np.mean([(shares(m, chosen) == place).mean() for m in forms]))
        return total

    def taken(chosen: np.ndarray) -> np.ndarray:
        return np.array([(m > chosen).any(1).mean() for m in first.values()])

    lithuanian = names.index("lt")
    while margins[lithuanian] > GRID[0]:
        tried = margins.copy()
        tried[lithuanian] -= 0.25
        if taken(tried).max() > TOGETHER:
            break
        margins = tried
    while True:
        now, wrong = let_in(margins), taken(margins)
        best, found = 0.0, None
        for place in range(len(names)):
            for step in STEPS:
                tried = margins.copy()
                tried[place] = max(GRID[0], tried[place] - step)
                after = taken(tried)
                if tried[place] < margins[place] and after.max() <= TOGETHER:
                    worth = (let_in(tried) - now) / (float((after - wrong).sum()) + 1e-3)
                    if worth > best:
                        best, found = worth, tried
        if found is None:
            return margins
        margins = found


def calibrate(work: Path, encoder: FastEncoder) -> dict:
    """Margins by vocabulary, and what they do: wrongly routed short strings a base language, rightly routed held-out strings a new one."""
    strings = {language: np.array([encoder.text_margins(text) for text in texts]) for language, texts in short_strings(work).items()}
    names = encoder.names[1:]
    written, bare = own_strings(work, encoder)
    margins = set_margins(names, strings, written, bare)
    place_of = {language: names.index(group.name) for group in languages.GROUPS for language in group.languages}
    wrong = {language: float((m > margins).any(1).mean()) for language, m in strings.items()}
    right, without = ({k: float((shares(m, margins) == place_of[k]).mean()) for k, m in forms.items()} for forms in (written, bare))
    return {"margins": dict(zip(names, map(float, margins), strict=True)), "wrong": wrong, "right": right, "withoutDiacritics": without}


def run(work: Path, encoder: FastEncoder) -> dict:
    """As calibrate, kept in WORK/routing.json."""
    target = work / "routing.json"
    if not target.exists():
        target.write_text(json.dumps(calibrate(work, encoder), indent=1))
    return json.loads(target.read_text())
