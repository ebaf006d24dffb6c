"""What a step has seen so far, as running statistics per prompt that allocation rules read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray, IntArray

# Significant bits of a variance that count in a ranking. The rest is rounding of running sums, which depends on the
# order in which rewards arrive; dropping it leaves that order a say only where a variance lies at the edge of a step.
RANKING_BITS = 40

SUCCESS = 0.5
"""Rules that count successes count outcomes above this; 0/1 outcomes need no thought, graded ones a good verifier."""


class Observed:
    """Per-prompt counts and reward statistics of one step.

    Attributes:
        granted: int64 (P,) rollouts the allocation has granted, handed out or about to be.
        told: int64 (P,) rollouts that came back.
        valid: int64 (P,) of these, with a finite outcome.
        successes: int64 (P,) of these, with an outcome above `SUCCESS`.
        lowest, highest: float64 (P,) extremes of the finite outcomes (+inf, -inf before the first).
    """

    def __init__(self, prompts: int) -> None:
        self.granted: IntArray = np.zeros(prompts, np.int64)
        self.told: IntArray = np.zeros(prompts, np.int64)
        self.valid: IntArray = np.zeros(prompts, np.int64)
        self.successes: IntArray = np.zeros(prompts, np.int64)
        self.lowest: FloatArray = np.full(prompts, np.inf)
        self.highest: FloatArray = np.full(prompts, -np.inf)
        self._shift: FloatArray = np.full(prompts, np.nan)
        self._sum: FloatArray = np.zeros(prompts)
        self._squares: FloatArray = np.zeros(prompts)

    def __len__(self) -> int:
        """Return the number of prompts."""
        return len(self.granted)

    def add(self, prompts: IntArray, outcomes: FloatArray) -> None:
        """Record outcomes (k,) of rollouts of ``prompts`` (k,), in any order; NaN and infinities count as told only.

        Complexity: O(k).
        """
        np.add.at(self.told, prompts, 1)
        finite = np.isfinite(outcomes)
        where, values = (prompts, outcomes) if finite.all() else (prompts[finite], outcomes[finite])
        fresh = np.isnan(self._shift[where])
        # Sums run over differences to the prompt's first outcome, which keeps them exact under a common offset;
        # written in reverse, so that the first of several new ones stays.
        self._shift[where[fresh][::-1]] = values[fresh][::-1]
        shifted = values - self._shift[where]
        np.add.at(self.valid, where, 1)
        np.add.at(self.successes, where, values > SUCCESS)
        np.add.at(self._sum, where, shifted)
        np.add.at(self._squares, where, shifted * shifted)
        np.minimum.at(self.lowest, where, values)
        np.maximum.at(self.highest, where, values)

    def signal(self) -> npt.NDArray[np.bool_]:
        """Return bool (P,): the prompt's outcomes are not all equal (highest > lowest)."""
        return self.highest > self.lowest

    def mean(self) -> FloatArray:
        """Return the mean finite outcome (P,), NaN where there is none. Complexity: O(P)."""
        with np.errstate(invalid="ignore"):
            return self._shift + self._sum / np.maximum(self.valid, 1)

    def variance(self, prompts: IntArray | slice = slice(None)) -> FloatArray:
        """Return the population variance (ddof 0) of the finite outcomes of ``prompts``.

        Prompts without signal get exactly 0. The value is ``(n sum d^2 - (sum d)^2) / n^2`` with d the distance
        to the first outcome: exact for 0/1 outcomes, so that p and 1-p tie. It is rounded to 40 significant bits.

        Complexity: O(len(prompts)).
        """
        n = np.maximum(self.valid[prompts], 1)
        raw = (n * self._squares[prompts] - self._sum[prompts] ** 2) / (n * n)
        mantissa, exponent = np.frexp(raw)
        rounded = np.ldexp(np.rint(np.ldexp(mantissa, RANKING_BITS)), exponent - RANKING_BITS)
        return np.where(self.highest[prompts] > self.lowest[prompts], np.maximum(rounded, 0.0), 0.0)
