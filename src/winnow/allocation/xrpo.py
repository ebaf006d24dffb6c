"""XRPO: rollouts go where one more narrows the estimate of the mean reward most."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from winnow.about import About, declare
from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count
from winnow.allocation.until import cut
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed


@dataclass(frozen=True, slots=True)
class Xrpo:
    """Rounds of rollouts by the priority ``h(n) - h(n+1) + bonus log(1+T) / n`` (XRPO, arXiv 2510.06672).

    ``h(n) = t(1 - level/2, n-1) s / sqrt(n)`` is the half-width of the Student interval around the mean outcome of a
    prompt with n scorable rollouts and sample deviation s (ddof 1); T is the number of scorable rollouts of the step so
    far (ours: the source leaves open of what). With one outcome or none there is no interval: highest priority. From 2
    to 3 rollouts h falls so far that nothing else would count, so the gain is cut at ``ceiling`` (ours).

    A round is given out one rollout at a time: to the highest priority, which is then that of n+1 at the same s. Equal
    priorities (to 12 decimals): the prompt with fewer rollouts in this round, then the one offered first.

    Sizes (ours): ``initial`` rollouts for every prompt, then the rest of the budget in ``rounds`` rounds of one size,
    the last with what is left. It is spent exactly, unless all prompts have ``most``. A budget below ``initial`` per
    prompt is shared out evenly. Under a token budget rounds of the size that ``n`` per prompt implies go on until the
    tokens are spent.

    Left out: solved examples put before prompts that are never solved, and the novelty bonus on advantages.

    Known bias: how many rollouts a prompt gets depends on their outcomes, and a prompt whose first ``initial`` are
    equal gets few more, so groups that happened to be equal stay so. ``bonus=0`` makes that certain.

    Attributes:
        n: mean rollouts per prompt.
        initial: rollouts of every prompt before the first round, at least 1.
        rounds: rounds after that.
        level: 1 minus the confidence of the interval, in (0, 1).
        bonus: weight of the second term (lambda), >= 0.
        ceiling: the most the first term counts, > 0, in units of the outcome.
        most: the most rollouts of one prompt, at least n.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(P k log(P k)) per round, k the most that one prompt may still get in it.
    """

    n: int = 8
    initial: int = 4
    rounds: int = 4
    level: float = 0.05
    bonus: float = 0.1
    ceiling: float = 1.0
    most: int = 32

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("initial", 1), ("rounds", 1), ("most", self.n)):
            check_count("Xrpo", name, getattr(self, name), least)
        if self.initial > self.n:
            raise ConfigError(f"Xrpo(initial={self.initial}): more than the mean n={self.n}; lower it or raise n")
        if not 0 < self.level < 1:
            raise ConfigError(f"Xrpo(level={self.level!r}): use a share between 0 and 1, as 0.05")
        if not 0 <= self.bonus < math.inf:
            raise ConfigError(f"Xrpo(bonus={self.bonus!r}): use a number >= 0, as 0.1")
        if not self.ceiling > 0:
            raise ConfigError(f"Xrpo(ceiling={self.ceiling!r}): use a number above 0, as 1")

    @property
    def barrier(self) -> bool:
        """Priorities compare prompts, so rounds are waited for."""
        return True

    @property
    def largest(self) -> int:
        """No prompt gets more than ``most``."""
        return self.most

    def with_n(self, n: int) -> Xrpo:
        """Return the rule with another mean; ``initial`` and ``most`` give way where they have to."""
        return replace(self, n=n, initial=min(self.initial, n), most=max(self.most, n))

    def half_width(self, n: IntArray, deviation: FloatArray) -> FloatArray:
        """Return h for n >= 2 scorable rollouts (P,) with these sample deviations (P,)."""
        from scipy.special import stdtrit

        return np.asarray(stdtrit(n - 1, 1 - self.level / 2) * deviation / np.sqrt(n))

    def priority(self, n: IntArray, deviation: FloatArray, total: int) -> FloatArray:
        """Return the priority of one more rollout, after n scorable ones of ``total`` in the step; inf for n < 2."""
        enough = np.maximum(n, 2)
        gain = self.half_width(enough, deviation) - self.half_width(enough + 1, deviation)
        return np.where(n < 2, np.inf, np.minimum(gain, self.ceiling) + self.bonus * math.log1p(total) / enough)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return _Rounds(self, len(prompts), rollouts)


class _Rounds:
    def __init__(self, rule: Xrpo, prompts: int, rollouts: int | None) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._begun = False
        total = prompts * rule.n if rollouts is None else rollouts
        self._size = max(1, math.ceil((total - prompts * rule.initial) / rule.rounds))

    def next(self, seen: Observed, left: int | None) -> Grant:
        if self.finished or (seen.told < seen.granted).any():
            return NOTHING
        if not self._begun:
            self._begun = True
            first = np.full(len(seen), self._rule.initial, np.int64)
            return Grant(np.arange(len(seen)), first) if left is None else cut(np.arange(len(seen)), first, left)
        grant = _highest(self._rule, seen, self._size if left is None else min(self._size, left))
        if not grant:
            self.finished = True
            self.reason = f"each of the {len(seen)} prompts has most={self._rule.most} rollouts"
        return grant

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        pass


def _highest(rule: Xrpo, seen: Observed, size: int) -> Grant:
    """Give out rollouts one by one: as priorities fall with n, these are the ``size`` highest of all further ones."""
    room = np.maximum(rule.most - seen.granted, 0)
    prompt = np.repeat(np.arange(len(seen)), np.minimum(room, size))
    if not len(prompt):
        return NOTHING
    start = np.cumsum(np.minimum(room, size)) - np.minimum(room, size)
    place = np.arange(len(prompt)) - start[prompt]
    n = seen.valid
    deviation = np.sqrt(seen.variance() * n / np.maximum(n - 1, 1))
    # Equal outcomes in another order have the same deviation up to rounding, which must not decide.
    priority = np.round(rule.priority(n[prompt] + place, deviation[prompt], int(n.sum())), 12)
    taken = np.lexsort((prompt, place, -priority))[:size]
    counts = np.bincount(prompt[taken], minlength=len(seen))
    return Grant(np.flatnonzero(counts), counts[counts > 0])


RULES["xrpo"] = Xrpo
declare(
    "xrpo",
    About(
        paper="XRPO, arXiv 2510.06672 (its allocation; not its in-context examples and novelty bonus)",
        idea="further rollouts go where one more narrows the interval around the mean reward most",
        saves="rollouts on prompts whose rewards are known well enough",
        costs="rounds in sequence",
        bias="group sizes depend on rewards; unequal groups pull unequally",
        status="decision",
    ),
    lambda: {"allocation": Xrpo()},
)
