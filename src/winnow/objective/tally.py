"""Sums over the micro-batches of an update, turned into its statistics at the end."""

from __future__ import annotations

import torch
from torch import Tensor

from winnow.objective.policy_loss import LossTerms


class Tally:
    """Adds up ``LossTerms`` without waiting for the device."""

    def __init__(self) -> None:
        self._terms: list[Tensor] = []
        self.tokens = 0

    def add(self, terms: LossTerms, tokens: int) -> None:
        """Count the terms of one micro-batch."""
        sums = (terms.clipped, terms.ratio, terms.drift, terms.kl, terms.kl_clamped, terms.ratio_max)
        self._terms.append(torch.stack([value.double() for value in sums]))
        self.tokens += tokens

    def read(self) -> dict[str, float]:
        """Return ``clip_fraction``, ``ratio_mean``, ``drift``, ``kl`` per token, ``kl_clamped``, ``ratio_max``."""
        names = ("clip_fraction", "ratio_mean", "drift", "kl")
        terms = torch.stack(self._terms).cpu()
        sums = terms[:, :5].sum(0).tolist()
        means = {name: value / self.tokens for name, value in zip(names, sums[:4], strict=True)}
        return means | {"kl_clamped": sums[4], "ratio_max": float(terms[:, 5].max())}
