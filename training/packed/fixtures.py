"""Stage `fixtures`: texts in many scripts, their token ids and vectors by the reference encoder, for tests of other runtimes.

Texts are either generated (random runs of characters of a script, joined in awkward ways) or names and annotations from
CLDR (Unicode-3.0). Before anything is written, ids are held equal to those of the SentencePiece library over the same
pieces, on every text and for every vocabulary.
"""

from __future__ import annotations

import base64
import json
import random
import tarfile
from pathlib import Path

from . import container, sources
from .base import Base
from .fast import FastEncoder, library
from .reference import Encoder
from .unigram import UNKNOWN as UNKNOWN_ROW

SCRIPTS = {
    "latin": (0x61, 0x7A), "latin-1": (0xC0, 0xFF), "latin-a": (0x100, 0x17F), "vietnamese": (0x1EA0, 0x1EF9), "ipa": (0x250, 0x2AF),
    "greek": (0x391, 0x3C9), "cyrillic": (0x410, 0x44F), "cyrillic-more": (0x400, 0x45F), "armenian": (0x531, 0x586), "hebrew": (0x5D0, 0x5EA),
    "arabic": (0x621, 0x64A), "syriac": (0x710, 0x72F), "thaana": (0x780, 0x7A5), "devanagari": (0x905, 0x939), "bengali": (0x985, 0x9B9),
    "gurmukhi": (0xA05, 0xA39), "gujarati": (0xA85, 0xAB9), "tamil": (0xB85, 0xBB9), "telugu": (0xC05, 0xC39), "kannada": (0xC85, 0xCB9),
    "malayalam": (0xD05, 0xD39), "sinhala": (0xD85, 0xDC6), "thai": (0xE01, 0xE3A), "lao": (0xE81, 0xEB0), "tibetan": (0xF40, 0xF6C),
    "myanmar": (0x1000, 0x102A), "georgian": (0x10D0, 0x10F0), "ethiopic": (0x1200, 0x1248), "khmer": (0x1780, 0x17B3), "mongolian": (0x1820, 0x1877),
    "hiragana": (0x3041, 0x3096), "katakana": (0x30A1, 0x30FA), "half-width": (0xFF66, 0xFF9D), "full-width": (0xFF01, 0xFF5E), "han": (0x4E00, 0x9FA5),
    "hangul": (0xAC00, 0xD7A3), "jamo": (0x1100, 0x1112), "combining": (0x300, 0x36F), "punctuation": (0x2010, 0x205E), "symbols": (0x2190, 0x21FF),
    "compatibility": (0x3300, 0x33FF), "letter-like": (0x2100, 0x214F), "numbers": (0x2150, 0x218B), "emoji": (0x1F600, 0x1F64F), "mathematical": (0x1D400, 0x1D7FF),
    "han-extension": (0x20000, 0x20100), "digits": (0x30, 0x39), "ascii": (0x20, 0x7E),
}  # fmt: skip
LOCALES = "en de fr es it pt nl pl ru tr ar ja ko zh zh-Hant th lt lv et cs sk sl hr hu ro bg el sv da no fi uk he fa hi bn vi ca ka hy ta te ml am km lo my si sr mk".split()
BY_HAND = [
    "", " ", "   ", "\t\n", "a", "A", "▁", "▁▁", " ▁ ", "a▁", "▁a", "a▁ b", "\u200b", "a\u200bb", "\u00ad", "\u3000", "\u00a0a\u00a0", "\ufeffx", "a  b", " a b ",
    "ﬁne ﬂow", "①②③", "㍍", "ｆｕｌｌ ｗｉｄｔｈ", "ﾃｽﾄ", "e\u0301", "é", "A\u030a", "…", "½", "™", "ﷺ", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "👍🏽", "🇱🇹", "İstanbul", "ΟΔΟΣ", "straße STRASSE",
    "Sukurk naują užduotį GitHub repozitorijoje", "Parodyk paskutinius commit pakeitimus", "ištrink seną branch", "Sukurk nauja uzduoti", "parodyk siandienos orus Vilniuje",
    "list_pull_requests", "getUserById", "create-issue v2.0", "https://example.com/a?b=c&d=%20", "{\"key\": [1, 2.5, -3e10]}", "SELECT * FROM users WHERE id = 42;", "\x00", "a\x00b", "\x7f", "\ud7ff", "\ue000", "\uffff", "\U0010ffff",
]  # fmt: skip


def generated(count: int, rng: random.Random) -> list[str]:
    """Random texts: one to three scripts, words of 1–9 characters, odd joins, some of them long."""
    names = list(SCRIPTS)
    out = []
    while len(out) < count:
        scripts = [names[len(out) % len(names)], *rng.sample(names, rng.randrange(3))]
        words = []
        for _ in range(rng.choice((1, 2, 3, 6, 12, 12, 60))):
            low, high = SCRIPTS[rng.choice(scripts)]
            words.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 9))))
        out.append(rng.choice((" ", " ", " ", "  ", "-", "", "/", "\u3000", "\n")).join(words))
    return out


def annotations(work: Path, rng: random.Random, each: int) -> list[str]:
    """Short real texts in the locales above, from CLDR's annotations."""
    package = next(p for p in sources.packages("clean") if p.name == "cldr-annotations-full")
    texts = []
    with tarfile.open(sources.fetch(package, work / "packages")) as archive:
        for member in archive:
            parts = member.name.split("/")
            if parts[-1] != "annotations.json" or parts[-2] not in LOCALES:
                continue
            content = json.load(archive.extractfile(member))
            rows = content["annotations"]["annotations"]
            for value in rng.sample(sorted(rows.items()), each):
                texts.append(rng.choice([" ".join(value[1].get("tts", [])), " | ".join(value[1].get("default", []))]))
    return texts


def check_ids(path: Path, base: Base, encoder: Encoder, texts: list[str]) -> None:
    """Holds segmentation equal to the library's; raises on the first difference."""
    tensors, _ = container.read(path)
    for vocabulary in encoder.vocabularies:
        oracle = library(tensors, vocabulary.name, base.sentencepiece.rest)
        for text in texts:
            form = text if vocabulary.name == "base" else text.lower()
            ours = [0 if part.row == UNKNOWN_ROW else part.row + 3 for part in vocabulary.unigram.segment(encoder._normalise(form))]
            theirs = oracle.encode(form)
            if ours != theirs:
                raise AssertionError(f"{vocabulary.name}: {text!r} is {ours} here and {theirs} in the library")


def check_routes(path: Path, base: Base, encoder: Encoder, texts: list[str]) -> None:
    """Holds the batch encoder, by which everything was measured, equal to the reference."""
    fast = FastEncoder(path, base.sentencepiece.rest)
    sizes = [len(vocabulary.rows) for vocabulary in encoder.vocabularies]
    for text in texts:
        ours = [sum(sizes[:v]) + row for v, row in encoder.question(text).rows]
        theirs = fast.ids(text, encoder.packed["questionPieces"])
        if ours != theirs:
            raise AssertionError(f"{text!r} is {ours} in the reference and {theirs} in the batch encoder")


def write(path: Path, out: Path, base: Base, work: Path, *, count: int = 500, each: int = 9, vectors: int | None = None, texts: list[str] = []) -> None:
    """Writes one JSON object a line. `vectors` says how many lines carry a vector (all when None)."""
    rng = random.Random(7)
    encoder = Encoder(path)
    every = list(dict.fromkeys([*BY_HAND, *texts, *annotations(work, rng, each), *generated(count, rng)]))
    every = [text for text in every if not any(0xD800 <= ord(c) <= 0xDFFF for c in text)]
    check_ids(path, base, encoder, every)
    check_routes(path, base, encoder, every)
    rng.shuffle(every)
    partial = out.with_suffix(".partial")
    with partial.open("w") as file:
        for place, text in enumerate(every):
            role = "document" if place % 4 == 3 else "question"
            tokens = encoder.document(text) if role == "document" else encoder.question(text)
            line: dict[str, object] = {"text": text, "role": role, "vocabulary": tokens.vocabulary, "ids": [[v, r] for v, r in tokens.rows]}
            if len({v for v, _ in tokens.rows}) == 1:
                line["ids"] = [r for _, r in tokens.rows]
            if vectors is None or place < vectors:
                line["vector"] = base64.b64encode(encoder.encode(tokens).tobytes()).decode()
            file.write(json.dumps(line, ensure_ascii=True) + "\n")
    partial.replace(out)
    print(f"{out.name}: {len(every)} texts, ids equal to the SentencePiece library for {', '.join(v.name for v in encoder.vocabularies)}")
