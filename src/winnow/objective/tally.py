"""Sums over the micro-batches of an update, turned into its statistics at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from winnow.objective.policy_loss import LossTerms
from winnow.objective.records import Row

OUTLIERS = 20
"""Clamped tokens that are told one by one; the others are counted."""


class Tally:
    """Adds up ``LossTerms`` without waiting for the device."""

    def __init__(self) -> None:
        self._terms: list[Tensor] = []
        self._clamped: list[tuple[Sequence[Row], Tensor]] = []
        self.tokens = 0

    def add(self, terms: LossTerms, rows: Sequence[Row]) -> None:
        """Count the terms of the rows of one micro-batch."""
        sums = (terms.clipped, terms.ratio, terms.drift, terms.kl, terms.kl_clamped, terms.ratio_max)
        self._terms.append(torch.stack([value.double() for value in sums]))
        if terms.clamped_RT is not None:
            self._clamped.append((rows, terms.clamped_RT))
        self.tokens += sum(len(row.ids) for row in rows)

    def read(self) -> dict[str, float]:
        """Return ``clip_fraction``, ``ratio_mean``, ``drift``, ``kl`` per token, ``kl_clamped``, ``ratio_max``."""
        names = ("clip_fraction", "ratio_mean", "drift", "kl")
        terms = torch.stack(self._terms).cpu()
        sums = terms[:, :5].sum(0).tolist()
        means = {name: value / self.tokens for name, value in zip(names, sums[:4], strict=True)}
        return means | {"kl_clamped": sums[4], "ratio_max": float(terms[:, 5].max())}

    def outliers(self) -> Iterator[tuple[Row, int, float]]:
        """Yield row, token and log-ratio of clamped tokens, the first `OUTLIERS` of them."""
        left = OUTLIERS
        for rows, clamped_RT in self._clamped:
            for row, token in clamped_RT.nonzero()[:left].tolist():
                left -= 1
                yield rows[row], token, float(clamped_RT[row, token])
