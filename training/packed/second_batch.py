"""The second encoder's body on whole batches, differentiable, in PyTorch. Equal to second_reference.Body to 1e-5."""

from __future__ import annotations

import os

import numpy as np
import torch
import torch.nn.functional as F

from .second import EPSILON, HEADS, LAYERS, WIDTH

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


class BatchBody:
    """Weights of two dimensions are frozen; biases, gains and positions are in `free`, where training may change them."""

    def __init__(self, body: dict[str, np.ndarray], fast: bool = False) -> None:
        """`fast` computes in bfloat16, eight times as fast where the processor can; vectors keep a cosine of .9999."""
        self._kind = torch.bfloat16 if fast else torch.float32
        self._weights = {n: torch.from_numpy(v.copy()).to(self._kind) for n, v in body.items() if v.ndim == 2 and n != "positions"}
        self.free = {n: torch.from_numpy(v.astype(np.float32)) for n, v in body.items() if v.ndim == 1 or n == "positions"}

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self._weights[name], self.free[f"{name}.bias"].to(self._kind))

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), self.free[f"{name}.gain"].to(x.dtype), self.free[f"{name}.bias"].to(x.dtype), EPSILON)

    def __call__(self, rows: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Unit vectors [texts, 384] for rows [texts, longest, 384]; `real` [texts, longest] is false behind a text's end."""
        texts, longest, _ = rows.shape
        x = self._norm(rows + self.free["positions"][:longest], "embedding_norm").to(self._kind)
        hide = torch.zeros(texts, 1, 1, longest, dtype=self._kind).masked_fill(~real[:, None, None, :], -1e9)
        for layer in range(LAYERS):
            name = f"layer{layer}."
            q, k, v = self._linear(x, f"{name}qkv").view(texts, longest, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            mixed = torch.softmax(q @ k.transpose(-1, -2) + hide, -1) @ v
            x = self._norm(self._linear(mixed.transpose(1, 2).reshape(texts, longest, WIDTH), f"{name}out") + x, f"{name}attention_norm")
            x = self._norm(self._linear(F.gelu(self._linear(x, f"{name}up")), f"{name}down") + x, f"{name}output_norm")
        sums = (x.float() * real[:, :, None]).sum(1)
        return F.normalize(sums, dim=1)


def padded(ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Row numbers [texts, longest] and which are real."""
    longest = max(len(one) for one in ids)
    out = np.zeros((len(ids), longest), np.int64)
    real = np.zeros((len(ids), longest), bool)
    for place, one in enumerate(ids):
        out[place, : len(one)], real[place, : len(one)] = one, True
    return torch.from_numpy(out), torch.from_numpy(real)


def encode(body: BatchBody, table: np.ndarray, ids: list[list[int]], pieces: int = 3000) -> np.ndarray:
    """Vectors for lists of row numbers; batches of about `pieces` rows, texts sorted by length."""
    rows = torch.from_numpy(table)
    out = np.zeros((len(ids), WIDTH), np.float32)
    order = np.argsort([len(one) for one in ids], kind="stable")
    at = 0
    with torch.no_grad():
        while at < len(order):
            end = at + 1
            while end < len(order) and len(ids[order[end]]) * (end + 1 - at) <= pieces:
                end += 1
            part = order[at:end]
            numbers, real = padded([ids[i] for i in part])
            out[part] = body(rows[numbers], real).numpy()
            at = end
    return out
