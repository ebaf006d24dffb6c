"""VIGOR in rounds, as the paper has it."""

from __future__ import annotations

import math

import numpy as np

from winnow.allocation.base import NOTHING, Grant, highest, share_out
from winnow.groups import IntArray
from winnow.observed import Observed


def places(prompts: int, keep: float) -> int:
    """Return how many of ``prompts`` stay active: ceil, so that rounding never drops the last one."""
    return max(1, math.ceil(keep * prompts - 1e-9))


class Rounds:
    """The allocator of ``Vigor(barrier=True)``; see there for the rule."""

    def __init__(self, prompts: int, sizes: list[int], keep: float, skip_zero_variance: bool, rank: IntArray) -> None:
        self.finished = False
        self.reason = ""
        self._sizes = sizes
        self._keep = keep
        self._skip = skip_zero_variance
        self._rank = rank
        self._round = 0
        self._active = np.arange(prompts)

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return the next round, or nothing while rollouts of the last one are out."""
        if left == 0:
            self.finished = True
        if self.finished:
            return NOTHING
        last = self._round == len(self._sizes) - 1
        if self._round == len(self._sizes):  # a token budget: the last round again
            return Grant(self._active, np.full(len(self._active), self._sizes[-1], np.int64))
        if self._round == 0:
            wanted = len(self._active) * self._sizes[0]
            order = self._active
        else:
            if (seen.told[self._active] < seen.granted[self._active]).any():
                return NOTHING
            wanted, order = self._narrow(seen)
        if left is not None:
            wanted = left if last else min(wanted, left)
            self.finished = last
        self._round += 1
        return share_out(wanted, order)

    def _narrow(self, seen: Observed) -> tuple[int, IntArray]:
        """Keep the active prompts of highest variance; return rollouts for the round and prompts, best first."""
        variance = seen.variance(self._active)
        places_left = places(len(self._active), self._keep)
        wanted = places_left * self._sizes[self._round]
        varied = int(np.count_nonzero(variance))
        stay = min(places_left, varied) if self._skip and varied else places_left
        rank = self._rank[self._active]
        kept = highest(variance, stay, rank)
        self._active = self._active[kept]
        return wanted, self._active[np.lexsort((rank[kept], -variance[kept]))]

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Rounds read everything from ``seen`` when the round is over."""
