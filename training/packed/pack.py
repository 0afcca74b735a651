"""Puts vocabularies and body together into the packed file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import container, languages, prune, quantise
from .base import Base
from .sentencepiece_file import NORMAL, Piece

QUESTION_PIECES = 128
DOCUMENT_PIECES = 40
UNKNOWN_CHARACTER = -25.0


@dataclass
class NewVocabulary:
    name: str
    languages: list[str]
    pieces: list[Piece]
    """As in its SentencePiece model, specials first."""
    rows: np.ndarray
    """[pieces, 512] in the same order."""
    text_margin: float = 2.0
    about: dict = field(default_factory=dict)


def sorted_vocabulary(pieces: list[Piece]) -> tuple[list[Piece], np.ndarray]:
    """Normal pieces in bytewise order, and the places (in `pieces`) of their rows followed by unknown, begin and end (0, 1, 2)."""
    order = sorted((i for i, piece in enumerate(pieces) if piece.kind == NORMAL), key=lambda i: pieces[i].text.encode())
    return [pieces[i] for i in order], np.array([*order, 0, 1, 2])


@dataclass(frozen=True)
class Levels:
    coarse: np.ndarray
    fine: np.ndarray
    hessian: np.ndarray


def tensors_of(name: str, pieces: list[Piece], rows: np.ndarray, fine: np.ndarray, levels: Levels) -> dict[str, np.ndarray]:
    """The tensors of one vocabulary. `fine` are the row numbers that get a fourth bit."""
    texts = [piece.text.encode() for piece in pieces]
    codes, scales = quantise.rows_to_codes(rows, levels.coarse, levels.hessian)
    tensors = {
        f"{name}.pieces": np.frombuffer(b"".join(texts), np.uint8),
        f"{name}.lengths": np.array([len(text) for text in texts], np.uint8),
        f"{name}.scores": np.array([piece.score for piece in pieces], np.float32),
    }
    extra = {}
    if len(fine):
        fine_codes, scales[fine] = quantise.rows_to_codes(rows[fine], levels.fine, levels.hessian)
        codes[fine] = fine_codes >> 1
        extra = {f"{name}.fine_rows": fine.astype(np.uint32), f"{name}.fine": quantise.pack_bits(fine_codes & 1)}
    return tensors | {f"{name}.rows": quantise.pack_codes(codes), f"{name}.row_scale": scales} | extra


def base_tensors(work: Path, base: Base) -> tuple[dict[str, np.ndarray], Levels]:
    """The base's own tensors, rounded once and kept in WORK/base.safetensors (about 2 minutes of one core)."""
    kept = prune.kept(work, base)
    hessian = quantise.sensitivity(work, base)
    ordinary = base.table[kept[3::5]]
    levels = Levels(quantise.fit_levels(ordinary, 8), quantise.fit_levels(ordinary, 16), hessian)
    target = work / "base.safetensors"
    if not target.exists():
        pieces, places = sorted_vocabulary([base.sentencepiece.pieces[i] for i in kept])
        fine_rows = np.flatnonzero(np.isin(kept[places], prune.fine(work, base, kept)))
        container.write(target, tensors_of("base", pieces, base.table[kept[places]], fine_rows, levels), {})
    return container.read(target)[0], levels


def write(path: Path, work: Path, base: Base, new: list[NewVocabulary], word_margin: float | None, sources: list[dict]) -> None:
    """Writes the packed file."""
    rows, levels = base_tensors(work, base)
    body = {}
    for name, value in base.body.items():
        if value.ndim == 2:
            body[name], body[f"{name}.scale"] = quantise.weights_to_int8(value)
        else:
            body[name] = value
    n = len(rows["base.scores"])
    vocabularies: list[dict] = [
        {"name": "base", "unknownRow": n, "beginRow": n + 1, "endRow": n + 2, "lowercase": False, "languages": list(languages.BASE)}
    ]
    tensors = {
        "charsmap": np.frombuffer(base.sentencepiece.charsmap, np.uint8),
        "levels": levels.coarse,
        "fine_levels": levels.fine,
        **body,
        **rows,
    }
    for vocabulary in new:
        pieces, places = sorted_vocabulary(vocabulary.pieces)
        n = len(pieces)
        vocabularies.append(
            {
                "name": vocabulary.name,
                "unknownRow": n,
                "beginRow": n + 1,
                "endRow": n + 2,
                "lowercase": True,
                "languages": vocabulary.languages,
                "textMargin": vocabulary.text_margin,
            }
        )
        tensors |= tensors_of(vocabulary.name, pieces, vocabulary.rows[places], np.empty(0, np.int64), levels)
    container.write(
        path,
        tensors,
        {
            "format": 1,
            "dimensions": 512,
            "epsilon": base.epsilon,
            "vocabularies": vocabularies,
            "routing": {"unknownCharacterScore": UNKNOWN_CHARACTER, "textMargin": 2.0, "wordMargin": word_margin},
            "documentPieces": DOCUMENT_PIECES,
            "questionPieces": QUESTION_PIECES,
            "sources": sources,
        },
    )
