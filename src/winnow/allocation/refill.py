"""Uniform groups, and more prompts in place of those that came back without signal: DAPO's dynamic sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.groups import IntArray
from winnow.observed import Observed


@dataclass(frozen=True, slots=True)
class Refill:
    """Give n rollouts to prompt after prompt until enough groups carry signal (DAPO, arXiv 2503.14476).

    A step over P prompts wants ``W = max(1, P // pool)`` groups whose outcomes differ; the other prompts are spares.
    The first W prompts get n rollouts each. Then, with U groups of signal so far and F prompts whose rollouts are not
    all in, the next ``ceil(factor * (W - U - F))`` spares are opened, until nothing is missing, the spares are used
    up, or the budget holds no further group of n (a budget below n goes to the first prompt). The paper goes on
    without end and verl raises at its cap; here the step then trains on the groups it has, and says why. With
    ``factor`` above 1 more than W groups may carry signal; verl cuts the surplus, here it trains.

    Pair it with ``gate="zero_signal"``, as the recipe ``dapo`` does. Expected cost: 1 / P(signal) groups per group
    that trains. Known bias: which prompts train depends on their rewards.

    Attributes:
        n: rollouts per prompt.
        pool: prompts at hand per group wanted; hosts draw ``pool`` times their prompts of a step. verl's
            ``max_num_gen_batches``.
        factor: spares opened per missing group, at least 1.
        barrier: wait until every open group is complete; False replaces each group as soon as it proves dead.
    """

    n: int = 8
    pool: int = 3
    factor: float = 1.0
    barrier: bool = True

    def __post_init__(self) -> None:
        check_count("Refill", "n", self.n, 1)
        check_count("Refill", "pool", self.pool, 1)
        if not 1 <= self.factor < math.inf:
            raise ConfigError(f"Refill(factor={self.factor!r}): use a finite number of at least 1")

    @property
    def largest(self) -> int:
        """Every opened prompt gets n."""
        return self.n

    def with_n(self, n: int) -> Refill:
        """Return the rule with another n."""
        return replace(self, n=n)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return _Refilling(self, len(prompts))


class _Refilling:
    def __init__(self, rule: Refill, prompts: int) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._prompts = prompts
        self._wanted = max(1, prompts // rule.pool)
        self._opened = 0

    def next(self, seen: Observed, left: int | None) -> Grant:
        complete = seen.told[: self._opened] == seen.granted[: self._opened]
        open_groups = int(np.count_nonzero(~complete))
        if self.finished or (self._rule.barrier and open_groups):
            return NOTHING
        usable = int(np.count_nonzero(seen.signal()[: self._opened] & complete))
        missing = self._wanted - usable - open_groups
        spares, room = self._prompts - self._opened, _groups(left, self._rule.n)
        count = min(math.ceil(self._rule.factor * missing - 1e-9) if self._opened else missing, spares, room)
        if not self._opened and not room:
            # What is left of a run's budget is smaller than a group: one short group beats none.
            self._opened, self.finished = 1, True
            self.reason = self._why(0, self._prompts - 1, missing)
            return Grant(np.zeros(1, np.int64), np.array([left], np.int64))
        if count > 0:
            first, self._opened = self._opened, self._opened + count
            return Grant(np.arange(first, self._opened), np.full(count, self._rule.n, np.int64))
        if not open_groups or spares == 0 or room == 0:
            self.finished = True
            self.reason = self._why(usable, spares, missing)
        return NOTHING

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        pass

    def _why(self, usable: int, spares: int, missing: int) -> str:
        if missing <= 0:
            return f"{usable} groups with signal, {self._wanted} wanted"
        ended = f"all {self._prompts} prompts are used" if not spares else f"no room for n={self._rule.n} more"
        return f"{usable} of {self._wanted} groups with signal: {ended}"


def _groups(left: int | None, n: int) -> int:
    return 2**62 if left is None else left // n


RULES["refill"] = Refill
