"""Stage `vocabularies`: one lower-cased Unigram vocabulary for each group of new languages, by SentencePiece's trainer.

The text is normalised with the base's own charsmap before training, and the trainer is told to change nothing, so that one
charsmap serves every vocabulary in the packed file.
"""

from __future__ import annotations

import random
from pathlib import Path

import sentencepiece

from . import corpus, languages, sentencepiece_file
from .base import Base
from .sentencepiece_file import Model
from .unigram import SPACE, Normaliser

STRINGS_A_LANGUAGE = 40_000


def folder(work: Path) -> Path:
    return work / "vocabularies"


def train(work: Path, base: Base) -> None:
    """Writes WORK/vocabularies/NAME.model; one thread, so that the result is the same every time."""
    folder(work).mkdir(exist_ok=True)
    normalise = Normaliser(base.sentencepiece.charsmap)
    pairs = corpus.pairs(work)
    for group in languages.GROUPS:
        target = folder(work) / f"{group.name}.model"
        if target.exists():
            continue
        rng = random.Random(group.name)
        lines = []
        for language in group.languages:
            texts = sorted({text.lower() for _, text in pairs[language]})
            if len(group.languages) > 1:
                texts = rng.sample(texts, min(STRINGS_A_LANGUAGE, len(texts)))
            if language in languages.STRIPPED:
                texts += [languages.without_diacritics(text) for text in rng.sample(texts, int(len(texts) * languages.STRIPPED_SHARE))]
            lines += [normalise(text).replace(SPACE, " ").strip() for text in texts]
        rng.shuffle(lines)
        text_file = folder(work) / f"{group.name}.txt"
        text_file.write_text("\n".join(line for line in lines if line))
        sentencepiece.SentencePieceTrainer.train(
            input=str(text_file),
            model_prefix=str(folder(work) / f"{group.name}.new"),
            vocab_size=group.size,
            model_type="unigram",
            normalization_rule_name="identity",
            character_coverage=0.9997,
            split_digits=True,
            max_sentencepiece_length=16,
            num_threads=1,
            unk_id=0,
            bos_id=1,
            eos_id=2,
            pad_id=-1,
            minloglevel=2,
        )
        trained = sentencepiece_file.parse((folder(work) / f"{group.name}.new.model").read_bytes())
        # The base's normaliser specification in place of the identity one.
        target.write_bytes(sentencepiece_file.serialise(Model(trained.pieces, base.sentencepiece.charsmap, base.sentencepiece.rest)))
        print(f"vocabulary {group.name}: {len(trained.pieces)} pieces from {len(lines)} strings", flush=True)


def load(work: Path, name: str) -> tuple[Model, sentencepiece.SentencePieceProcessor]:
    """A vocabulary's pieces, and the library opened over it (texts must be lower-cased)."""
    data = (folder(work) / f"{name}.model").read_bytes()
    return sentencepiece_file.parse(data), sentencepiece.SentencePieceProcessor(model_proto=data)
