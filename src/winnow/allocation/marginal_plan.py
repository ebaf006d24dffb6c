"""The allocator of rules that plan a whole step before its first rollout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from winnow.allocation.base import NOTHING, Grant
from winnow.groups import IntArray
from winnow.observed import Observed


class Planned:
    """Grant a plan at once, the largest groups first, and spend the budget exactly.

    A token budget (``left`` is None) has no total to plan for: the plan for ``nominal`` rollouts is granted, and again
    as long as tokens are left. If they run out earlier, the prompts with the fewest rollouts go without.

    Args:
        plan: from a total of at least 1 to int64 (P,) counts that sum to it.
        nominal: the total under a token budget.
    """

    def __init__(self, plan: Callable[[int], IntArray], nominal: int) -> None:
        self.finished = False
        self.reason = ""
        self._plan = plan
        self._nominal = nominal

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return the plan."""
        if self.finished or left == 0:
            self.finished = True
            return NOTHING
        self.finished = left is not None
        counts = self._plan(self._nominal if left is None else left)
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        return Grant(order, counts[order])

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Nothing that comes back changes a plan."""
