"""Whether longer completions of the same prompt are paid more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.audit.findings import Finding
from winnow.audit.groups import Group
from winnow.audit.stats import Within

STRONG = 0.3
FEWEST = 20
"""Groups below which an interval over groups means little."""


class Lengths:
    """Correlation of length and reward within groups, of the values and of their ranks (ties share a rank)."""

    def __init__(self) -> None:
        self.pearson, self.spearman = Within(), Within()

    def group(self, group: Group) -> None:
        """Take a group in."""
        rewards, _, lengths = group.scorable()
        if len(rewards) < 2 or not (np.ptp(rewards) and np.ptp(lengths)):
            return
        self.pearson.add(lengths, rewards)
        self.spearman.add(ranks(lengths), ranks(rewards))

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        return {"pearson": self.pearson.as_dict(), "spearman": self.spearman.as_dict()}

    def findings(self) -> Iterator[Finding]:
        """Yield a finding when the interval of the rank correlation lies beyond `STRONG` on one side."""
        found = self.spearman.as_dict()
        if found["groups"] < FEWEST or not (found["low"] > STRONG or found["high"] < -STRONG):
            return
        more = "longer" if found["r"] > 0 else "shorter"
        yield Finding(
            "medium",
            "length",
            f"within a prompt, {more} completions are paid more: rank correlation {found['r']:.2f} "
            f"({found['low']:.2f} to {found['high']:.2f})",
            f"expect them to grow {more}; see whether the verifier rewards form, and whether truncation is at work",
        )


def ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the ranks of finite values, from 1; equal values share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: npt.NDArray[np.float64] = (last - (counts - 1) / 2)[places]
    return shared
