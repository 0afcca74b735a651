"""Three bits a weight for rows, a fourth for those most used, eight for the body.

Rows are rounded column by column, each column's error carried into those that follow in proportion to how the encoder's
output reacts to them both (the method of GPTQ, arXiv 2210.17323, with the Hessian of the encoder's output instead of a
layer's). Measured against plain rounding: mean cosine to the unrounded encoder .982 instead of .977 at three bits.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import sentencepiece
import torch

from . import batch, languages, parallel, sentencepiece_file
from .base import Base

DAMPING = 0.1
"""Added to the Hessian's diagonal, as a share of its mean."""
ROUNDS = 3
"""Of rounding and setting each row's scale anew."""
BLOCK = 64


def sensitivity(work: Path, base: Base) -> np.ndarray:
    """H [512, 512]: the mean of JᵀJ over pieces, J the Jacobian of a text's vector by a piece's row, estimated with three random
    directions for each of 3,750 texts, half of them English; kept in WORK/sensitivity.npy."""
    target = work / "sensitivity.npy"
    if not target.exists():
        torch.manual_seed(0)
        rng = random.Random(4)
        every = parallel.load(work)
        english = sorted({source for language in languages.BASE if language != "en" for source, _ in every[language]})
        texts = rng.sample(english, 125 * len(languages.BASE))
        for language in languages.BASE:
            if language != "en":
                texts += rng.sample(sorted({translation for _, translation in every[language]}), 125)
        rng.shuffle(texts)
        processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_file.serialise(base.sentencepiece))
        ids = [[1, *pieces[:60], 2] for pieces in processor.encode(texts)]
        body = batch.BatchBody(base.body, base.epsilon)
        total, pieces = torch.zeros(512, 512, dtype=torch.float64), 0
        for start in range(0, len(ids), 64):
            part = ids[start : start + 64]
            rows = torch.from_numpy(base.table[np.concatenate([np.array(one) for one in part])]).requires_grad_(True)
            vectors = body(rows, torch.tensor([len(one) for one in part]))
            for turn in range(3):
                (gradient,) = torch.autograd.grad((vectors * torch.randn_like(vectors)).sum(), rows, retain_graph=turn < 2)
                total += (gradient.T @ gradient).double()
                pieces += len(gradient)
        np.save(target, (total / pieces).numpy())
    return np.load(target)


def fit_levels(rows: np.ndarray, count: int, rounds: int = 25) -> np.ndarray:
    """`count` Lloyd-Max levels, shared by all rows, for rows divided by their σ; begins at quantiles."""
    sigma = rows.std(axis=1, keepdims=True)
    sample = (rows[sigma[:, 0] > 1e-3] / sigma[sigma[:, 0] > 1e-3]).ravel()
    levels = np.quantile(sample, (np.arange(count) + 0.5) / count).astype(np.float32)
    for _ in range(rounds):
        codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, sample)
        levels = (np.bincount(codes, weights=sample, minlength=count) / np.maximum(np.bincount(codes, minlength=count), 1)).astype(np.float32)
    return levels


def _round(rows: np.ndarray, levels: np.ndarray, scale: np.ndarray, upper: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Codes for rows at given scales, errors carried on; `upper` is the Cholesky factor of H⁻¹ in the order given."""
    rest = rows[:, order].astype(np.float32)
    codes = np.empty(rest.shape, np.uint8)
    edges = (levels[1:] + levels[:-1]) / 2
    for start in range(0, rest.shape[1], BLOCK):
        end = start + BLOCK
        errors = np.empty((len(rest), BLOCK), np.float32)
        for column in range(start, end):
            value = rest[:, column]
            code = np.searchsorted(edges, value / scale)
            codes[:, column] = code
            error = (value - levels[code] * scale) / upper[column, column]
            errors[:, column - start] = error
            rest[:, column + 1 : end] -= error[:, None] * upper[column, column + 1 : end]
        rest[:, end:] -= errors @ upper[start:end, end:]
    return codes[:, np.argsort(order)]


def rows_to_codes(rows: np.ndarray, levels: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes [n, 512] and scales F16 [n] that keep the encoder's output near what the rows give."""
    damped = hessian + np.eye(len(hessian)) * DAMPING * np.diag(hessian).mean()
    order = np.argsort(-np.diag(damped), kind="stable")
    upper = np.linalg.cholesky(np.linalg.inv(damped[order][:, order])).T.astype(np.float32)
    metric = hessian.astype(np.float32)
    codes, scales = np.empty(rows.shape, np.uint8), np.empty(len(rows), np.float16)
    for start in range(0, len(rows), 8192):
        part = rows[start : start + 8192]
        scale = np.maximum(part.std(axis=1), 1e-4).astype(np.float16).astype(np.float32)
        for turn in range(ROUNDS):
            code = _round(part, levels, scale, upper, order)
            if turn < ROUNDS - 1:
                value = levels[code]
                pulled = value @ metric
                best = (pulled * part).sum(1) / np.maximum((pulled * value).sum(1), 1e-12)
                scale = np.maximum(best, 1e-4).astype(np.float16).astype(np.float32)
        codes[start : start + 8192], scales[start : start + 8192] = code, scale.astype(np.float16)
    return codes, scales


def pack_codes(codes: np.ndarray) -> np.ndarray:
    """Three-bit codes of rows (512 a row to 192 bytes, 384 to 144); code i at bits 3i..3i+2, least significant bit first."""
    bits = (codes[:, :, None] >> np.arange(3, dtype=np.uint8)) & 1
    return np.packbits(bits.reshape(len(codes), -1), axis=1, bitorder="little")


def unpack_codes(packed: np.ndarray, dimensions: int = 512) -> np.ndarray:
    """The inverse of pack_codes."""
    bits = np.unpackbits(packed, axis=1, bitorder="little").reshape(len(packed), dimensions, 3)
    return bits[:, :, 0] | bits[:, :, 1] << 1 | bits[:, :, 2] << 2


def pack_bits(bits: np.ndarray) -> np.ndarray:
    """One bit a weight [n, 512] to 64 bytes a row, least significant bit first."""
    return np.packbits(bits, axis=1, bitorder="little")


def unpack_bits(packed: np.ndarray) -> np.ndarray:
    """The inverse of pack_bits."""
    return np.unpackbits(packed, axis=1, bitorder="little")


def weights_to_int8(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Output-major weights to I8 and a scale F32 for every output: w = q × scale."""
    scale = (np.abs(weights).max(axis=1) / 127).astype(np.float32)
    return np.round(weights / np.maximum(scale, 1e-12)[:, None]).astype(np.int8), scale


def as_shipped(weights: np.ndarray) -> np.ndarray:
    """What eight bits leave of float32 weights."""
    codes, scale = weights_to_int8(weights)
    return codes * scale[:, None]
