"""`python -m packed --work DIR --out FILE`: runs every stage that has not run yet in DIR, and writes both packed files."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from . import base as base_model
from . import corpus, entry, evaluate, evidence, fixtures, languages, pack, parallel, prune, router, rows, second, second_fixtures, second_pack, sources, vocabulary
from .fast import FastEncoder

WORD_MARGIN = 2.0
"""How much better the base must know a word, in log-probability, to read it inside a routed text; measured in decision 0020."""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def card(work: Path) -> list[dict]:
    """Every package text was taken from, with its licence and how many of its pairs each new language learned from."""
    every = parallel.load(work)
    new = [language for group in languages.GROUPS for language in group.languages]
    out = []
    for package in sources.packages("clean"):
        count = {language: sum(name == package.name for name in every[language].values()) for language in new}
        out.append({"name": package.name, "version": package.version, "registry": package.registry, "licence": package.licence, "pairs": {k: n for k, n in count.items() if n}})
    return out


def new_vocabularies(work: Path, base: base_model.Base, margins: dict[str, float]) -> list[pack.NewVocabulary]:
    """Every group's trained vocabulary, without its least used pieces."""
    out = []
    for group in languages.GROUPS:
        model, processor = vocabulary.load(work, group.name)
        texts, _, language = rows.strings(work, group)
        kept = prune.new_pieces(model.pieces, processor.encode(texts), language, group.kept)
        trained = rows.train(work, base, group)
        out.append(pack.NewVocabulary(group.name, list(group.languages), [model.pieces[i] for i in kept], trained[kept], margins.get(group.name, 2.0)))
    return out


def write(work: Path, base: base_model.Base, out: Path) -> None:
    """Packs twice: once to measure margins on what is really shipped, once with them."""
    draft = work / "draft.safetensors"
    about = [{key: row[key] for key in ("name", "version", "licence")} for row in card(work)]
    pack.write(draft, work, base, new_vocabularies(work, base, {}), WORD_MARGIN, about)
    routing = router.run(work, FastEncoder(draft, base.sentencepiece.rest))
    print(json.dumps(routing, indent=1))
    pack.write(out, work, base, new_vocabularies(work, base, routing["margins"]), WORD_MARGIN, about)


def write_second(work: Path, first: Path, encoder: FastEncoder, out: Path) -> None:
    """Packs the second encoder for use beside the first one's file `first`."""
    model = second.read(work)
    parts = entry.run(work, encoder, json.loads((work / "routing.json").read_text()))
    about = [{"name": package.name, "version": package.version, "licence": package.licence} for package in sources.packages("second")]
    second_pack.write(out, model, parts, evidence.run(work, model), digest(first), about)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m packed", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".work"), help="folder of intermediate files, about 6 GB (default: .work)")
    parser.add_argument("--out", type=Path, default=Path("../packages/model/encoder.safetensors"))
    parser.add_argument("--sets", type=Path, nargs="*", default=[], help="folders of question sets to measure the result on")
    parser.add_argument("--second", type=Path, default=None, help="where the second encoder goes (default: english.safetensors beside --out)")
    options = parser.parse_args()
    beside: Path = options.second or options.out.with_name("english.safetensors")
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    base = None

    def needed() -> base_model.Base:
        nonlocal base
        base = base or base_model.read(work)
        return base

    def shipped() -> FastEncoder:
        return FastEncoder(options.out, needed().sentencepiece.rest)

    stages: list[tuple[str, Callable[[], object]]] = [
        ("download", lambda: sources.run(work)),
        ("extract", lambda: parallel.extract(work)),
        ("corpus", lambda: corpus.build(work)),
        ("vocabularies", lambda: vocabulary.train(work, needed())),
        ("teacher", lambda: corpus.teach(work, needed())),
        ("prune", lambda: prune.use(work, needed())),
        ("quantise", lambda: pack.base_tensors(work, needed())),
        *((f"rows of {group.name}", lambda group=group: rows.train(work, needed(), group)) for group in languages.GROUPS),
        ("pack", lambda: write(work, needed(), options.out)),
        ("fixtures", lambda: fixtures.write(options.out, work / "fixtures.jsonl", needed(), work)),
        ("second teacher", lambda: entry.teach(work)),
        ("reach and entry", lambda: entry.run(work, shipped(), json.loads((work / "routing.json").read_text()))),
        ("second", lambda: write_second(work, options.out, shipped(), beside)),
        ("second fixtures", lambda: second_fixtures.write(beside, work / "second" / "fixtures.jsonl", work)),
    ]
    for name, stage in stages:
        began = time.monotonic()
        stage()
        print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    encoder = FastEncoder(options.out, needed().sentencepiece.rest)
    print(json.dumps({"held-out recall@1 of 400": evaluate.held_out(encoder, corpus.held(work))}, indent=1))
    for name, cells in evaluate.table(encoder, options.sets).items():
        print(name, {language: f"{value:.3f} ({n})" for language, (value, n) in cells.items()})
    for path in sorted([*work.glob("vocabularies/*.model"), *work.glob("rows/*.npy"), work / "corpus" / "teacher.npy", *work.glob("second/*.np[yz]"), options.out, beside]):
        print(digest(path), path.name)


if __name__ == "__main__":
    main()
