"""Stage `corpus`: which pairs are learned from, which are held out, and the vectors the base gives their English sides.

Held out are English strings of 15–89 characters that at least eight of the new languages translate: with all their
translations they appear in no vocabulary and no training batch.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import sentencepiece

from . import batch, languages, parallel, sentencepiece_file
from .base import Base

HELD_OUT = 1_000
PAIRS_A_LANGUAGE = 45_000
"""Of each new language but Lithuanian, which keeps all."""
TEACHER_PIECES = 62


def build(work: Path) -> None:
    """Writes WORK/corpus: pairs.json {language: [[English number, translation], …]}, english.json, held.json."""
    out = work / "corpus"
    out.mkdir(exist_ok=True)
    if (out / "done").exists():
        return
    rng = random.Random(2)
    every = parallel.load(work)
    new = [language for group in languages.GROUPS for language in group.languages]
    seen = Counter(english for language in new for english in {english for english, _ in every[language]})
    candidates = sorted(english for english, count in seen.items() if count >= 8 and 15 <= len(english) < 90)
    held = set(rng.sample(candidates, HELD_OUT))
    pairs: dict[str, list[tuple[str, str]]] = {}
    test: dict[str, list[tuple[str, str]]] = {}
    for language in [*new, *languages.BASE]:
        if language == "en":
            continue
        rows = sorted(every[language])
        test[language] = sorted({english: translation for english, translation in rows if english in held}.items())
        if language in new:
            rows = [row for row in rows if row[0] not in held]
            pairs[language] = rows if language == "lt" else rng.sample(rows, min(PAIRS_A_LANGUAGE, len(rows)))
    number = {english: place for place, english in enumerate(sorted({english for rows in pairs.values() for english, _ in rows}))}
    (out / "pairs.json").write_text(json.dumps({language: [[number[e], t] for e, t in rows] for language, rows in pairs.items()}, ensure_ascii=False))
    (out / "english.json").write_text(json.dumps(list(number), ensure_ascii=False))
    (out / "held.json").write_text(json.dumps(test, ensure_ascii=False))
    (out / "done").write_text("")
    print(f"{len(number)} English strings; pairs: {({language: len(rows) for language, rows in pairs.items()})}", flush=True)


def teach(work: Path, base: Base) -> None:
    """Writes WORK/corpus/teacher.npy: the base's vector, float16, for every English string. About 1,500 strings a second on one core."""
    target = work / "corpus" / "teacher.npy"
    if target.exists():
        return
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_file.serialise(base.sentencepiece))
    ids = [[1, *pieces[:TEACHER_PIECES], 2] for pieces in processor.encode(json.loads((work / "corpus" / "english.json").read_text()))]
    body = batch.BatchBody(base.body, base.epsilon)
    vectors = np.zeros((len(ids), 512), np.float16)
    for start in range(0, len(ids), 16_384):
        vectors[start : start + 16_384] = batch.encode(body, base.table, ids[start : start + 16_384])
        print(f"teacher: {start} of {len(ids)}", flush=True)
    partial = target.with_name("teacher.partial.npy")
    np.save(partial, vectors)
    partial.replace(target)


def english(work: Path) -> list[str]:
    return json.loads((work / "corpus" / "english.json").read_text())


def pairs(work: Path) -> dict[str, list[tuple[int, str]]]:
    return {language: [tuple(row) for row in rows] for language, rows in json.loads((work / "corpus" / "pairs.json").read_text()).items()}


def held(work: Path) -> dict[str, list[tuple[str, str]]]:
    """Held-out (English, translation) by language, the base's own languages too."""
    return {language: [tuple(row) for row in rows] for language, rows in json.loads((work / "corpus" / "held.json").read_text()).items()}
