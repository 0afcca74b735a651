"""Stage `routing`: how far a new vocabulary must beat the base before it gets a text.

A vocabulary's margin is the smallest on a grid of 0.25 (at least 1.5) at which it takes no more than SHARE (SHARE_ALONE) of the short strings
(6–24 characters) of any of the base's languages; together they stay under the 2 % that is promised. It is set on one half of
the strings and measured on the other.
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
STRINGS = 1_200
GRID = np.arange(1.5, 24.01, 0.25)


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
        out[language] = rng.sample(chosen, min(2 * STRINGS, len(chosen)))
    return out


def calibrate(work: Path, encoder: FastEncoder) -> dict:
    """Margins by vocabulary, and what they do: wrongly routed short strings a base language, rightly routed held-out strings a new one."""
    strings = {language: np.array([encoder.text_margins(text) for text in texts]) for language, texts in short_strings(work).items()}
    halves = {language: (m[::2], m[1::2]) for language, m in strings.items()}
    margins = []
    for place in range(len(encoder.names) - 1):
        worst = np.array([max((first[:, place] > t).mean() for first, _ in halves.values()) for t in GRID])
        share = SHARE_ALONE if encoder.names[place + 1] in ALONE else SHARE
        margins.append(float(GRID[np.argmax(worst <= share)]) if (worst <= share).any() else float(GRID[-1]))
    wrong = {language: float((second > np.array(margins)).any(1).mean()) for language, (_, second) in halves.items()}
    right, bare = {}, {}
    for group in languages.GROUPS:
        place = encoder.names.index(group.name) - 1
        for language in group.languages:
            texts = [translation for _, translation in corpus.held(work)[language]]
            for out, forms in ((right, texts), (bare, [languages.without_diacritics(text) for text in texts])):
                if out is bare and language not in languages.STRIPPED:
                    continue
                m = np.array([encoder.text_margins(text) for text in forms])
                passed = np.where(m > np.array(margins), m, -np.inf)
                out[language] = float(((passed.argmax(1) == place) & np.isfinite(passed.max(1))).mean())
    return {"margins": dict(zip(encoder.names[1:], margins, strict=True)), "wrong": wrong, "right": right, "withoutDiacritics": bare}


def run(work: Path, encoder: FastEncoder) -> dict:
    """As calibrate, kept in WORK/routing.json."""
    target = work / "routing.json"
    if not target.exists():
        target.write_text(json.dumps(calibrate(work, encoder), indent=1))
    return json.loads(target.read_text())
