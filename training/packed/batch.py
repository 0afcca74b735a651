"""The encoder's body on whole batches, differentiable, in PyTorch: used for training, teacher vectors and evaluation.

Rows of all texts lie one after another with GAP zero rows between them, so that no window reaches another text. Equal to
reference.Body to 1e-5.
"""

from __future__ import annotations

import os

import numpy as np
import torch
import torch.nn.functional as F

from .base import ORDERS

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


GAP = 2
"""Zero rows between texts: the widest window reaches two to each side."""


class BatchBody:
    def __init__(self, weights: dict[str, np.ndarray], epsilon: float, fast: bool = False) -> None:
        """`fast` multiplies in bfloat16 where work is done for every piece (five times as fast where the processor can)."""
        self._w = {name: torch.from_numpy(np.ascontiguousarray(value.T if value.ndim == 2 else value)) for name, value in weights.items()}
        self._fast = {name: value.bfloat16() for name, value in self._w.items() if value.ndim == 2} if fast else {}
        self._epsilon = epsilon

    def _times(self, x: torch.Tensor, name: str) -> torch.Tensor:
        if name in self._fast:
            return (x.bfloat16() @ self._fast[name]).float()
        return x @ self._w[name]

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (x.shape[-1],), self._w[f"{name}.gain"], self._w[f"{name}.bias"], self._epsilon)

    def _convolve(self, x: torch.Tensor, real: torch.Tensor, k: int, name: str) -> torch.Tensor:
        """One residual convolution over rows with GAP zero rows around every text; rows that are not `real` stay zero."""
        left = 0 if k == 2 else k // 2
        weights = self._fast.get(name, self._w[name])
        padded = F.pad(x, (0, 0, left, k - 1 - left)).to(weights.dtype)
        out = self._w[f"{name}.bias"]
        for shift in range(k):
            out = out + padded[shift : shift + len(x)] @ weights[shift * 256 : shift * 256 + 256]
        return torch.relu(out.float()) * real + x

    def __call__(self, rows: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Unit vectors [texts, 512] for rows [sum of lengths, 512]."""
        w = self._w
        text = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        place = torch.arange(len(rows)) + GAP * (text + 1)
        total = len(rows) + GAP * (len(lengths) + 1)
        real = torch.zeros(total, 1).index_fill_(0, place, 1)
        projected = self._norm(self._times(rows, "projection") + w["projection.bias"], "projection_norm")
        x = torch.zeros(total, projected.shape[1]).index_copy(0, place, projected)
        branches = []
        for branch, k in enumerate(ORDERS):
            value = x[:, branch * 256 : branch * 256 + 256]
            branches.append(self._convolve(self._convolve(value, real, k, f"conv{k}a"), real, k, f"conv{k}b"))
        features = torch.cat([rows, torch.cat(branches, 1).index_select(0, place)], 1)
        joint = self._norm(features, "joint_norm")
        sums = torch.zeros(len(lengths), joint.shape[1]).index_add(0, text, joint)
        count = lengths.float()[:, None]
        pooled = (sums @ w["pool"] + count * w["pool.bias"]) / count.sqrt()
        y0 = torch.relu(pooled @ w["dense0"])
        y1 = torch.relu(pooled @ w["skip1"] + y0 @ w["dense1"])
        y2 = torch.relu(y1 @ w["dense2"])
        return F.normalize(torch.tanh(y1 @ w["skip3"] + y2 @ w["dense3"]), dim=1)


def encode(body: BatchBody, table: np.ndarray, ids: list[list[int]] | list[np.ndarray], pieces: int = 3000) -> np.ndarray:
    """Vectors for lists of row numbers; batches of about `pieces` rows, texts sorted by length."""
    out = np.zeros((len(ids), 512), np.float32)
    order = np.argsort([len(one) for one in ids], kind="stable")
    at = 0
    with torch.no_grad():
        while at < len(order):
            end, size = at, 0
            while end < len(order) and (end == at or size + len(ids[order[end]]) <= pieces):
                size += len(ids[order[end]])
                end += 1
            part = order[at:end]
            flat = np.concatenate([np.asarray(ids[i], np.int64) for i in part])
            out[part] = body(torch.from_numpy(table[flat]), torch.tensor([len(ids[i]) for i in part])).numpy()
            at = end
    return out
