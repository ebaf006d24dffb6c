"""The same number of rollouts for every prompt: what GRPO does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count, share_out
from winnow.candidates import Candidates
from winnow.groups import IntArray
from winnow.observed import Observed


@dataclass(frozen=True, slots=True)
class Uniform:
    """Give every prompt n rollouts, all in one wave.

    A budget below ``n`` per prompt is shared out evenly, the remainder to the lowest prompt indices; a budget
    above it is left over, and the step says so.

    Attributes:
        n: rollouts per prompt.
    """

    n: int = 8

    def __post_init__(self) -> None:
        check_count("Uniform", "n", self.n, 1)

    @property
    def barrier(self) -> bool:
        """One wave: there is nothing to wait for."""
        return True

    @property
    def largest(self) -> int:
        """Every prompt gets n."""
        return self.n

    def with_n(self, n: int) -> Uniform:
        """Return the rule with another n."""
        return Uniform(n)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return _OneWave(len(prompts), self.n)


class _OneWave:
    def __init__(self, prompts: int, n: int) -> None:
        self.finished = False
        self.reason = ""
        self._prompts = prompts
        self._n = n

    def next(self, seen: Observed, left: int | None) -> Grant:
        if self.finished:
            return NOTHING
        self.finished = True
        self.reason = f"each of the {self._prompts} prompts has its n={self._n} rollouts"
        total = self._prompts * self._n
        return share_out(total if left is None else min(total, left), np.arange(self._prompts))

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        pass


RULES["uniform"] = Uniform
