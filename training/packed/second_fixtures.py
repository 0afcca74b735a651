"""Stage `second fixtures`: texts in many scripts, the token ids the `tokenizers` library gives them, vectors by the numpy
reference that reads the packed file, and, for short English texts, those of the package's own float32 weights.

Before anything is written, the plain tokenizer is held equal to the library on every text.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import numpy as np
import tokenizers

from . import corpus, fixtures, second, second_batch
from .second_reference import Second

SHOWN = 1_000
"""Texts whose vectors are compared with the package's own weights."""


def library(model: second.Second) -> tuple[tokenizers.Tokenizer, dict[int, int]]:
    """The package's tokenizer without cutting, filling up, or special names inside texts; and our row of each of its ids."""
    settings = json.loads(model.tokenizer)
    settings |= {"added_tokens": [], "truncation": None, "padding": None}
    number = settings["model"]["vocab"]
    return tokenizers.Tokenizer.from_str(json.dumps(settings)), {number[p]: row for row, p in enumerate([*model.pieces, *second.SPECIALS])}


def write(path: Path, out: Path, work: Path, *, count: int = 500, each: int = 9) -> None:
    """Writes one JSON object a line: text, ids (begin and end around, cut), vector, and `full` where the text is English."""
    rng = random.Random(11)
    model, encoder = second.read(work), Second(path)
    oracle, row = library(model)
    english = rng.sample([text for text in corpus.english(work) if len(text) >= 12], SHOWN)
    every = list(dict.fromkeys([*fixtures.BY_HAND, *fixtures.annotations(work, rng, each), *fixtures.generated(count, rng), *english]))
    limit = encoder.about["documentPieces"]
    ids = []
    for text in every:
        theirs = [row[i] for i in oracle.encode(text).ids]
        ours = encoder.wordpiece.rows(text, len(text) * 4 + 2)
        if ours != theirs:
            raise AssertionError(f"{text!r} is {ours} here and {theirs} in the library")
        ids.append([theirs[0], *theirs[1:-1][:limit], theirs[-1]])
    full = second_batch.encode(second_batch.BatchBody(model.body), model.rows, ids)
    shown, cosines = set(english), []
    partial = out.with_suffix(".partial")
    with partial.open("w") as file:
        for place, text in enumerate(every):
            vector = encoder.document(text)
            line: dict[str, object] = {"text": text, "ids": ids[place], "vector": base64.b64encode(vector.tobytes()).decode()}
            if text in shown:
                line["full"] = base64.b64encode(full[place].tobytes()).decode()
                cosines.append(float(vector @ full[place]))
            file.write(json.dumps(line, ensure_ascii=True) + "\n")
    partial.replace(out)
    c = np.array(cosines)
    print(f"{out.name}: {len(every)} texts, ids equal to the tokenizers library; cosine with the package's weights over {len(c)}: mean {c.mean():.5f}, 5th percentile {np.quantile(c, 0.05):.5f}, least {c.min():.5f}")
