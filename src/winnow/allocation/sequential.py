"""Rollout by rollout: the chance that a group becomes mixed decides whether its prompt goes on."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from winnow.allocation.base import NOTHING, Grant
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed


def chance(right: IntArray, wrong: IntArray, rest: IntArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the probability that a group is mixed once ``rest`` further rollouts are in.

    Under a Beta(a, b) belief before the group and outcomes so far: 1 once both kinds were seen; else 1 minus the
    probability that all further ones agree, ``B(a + right + rest, b) / B(a + right, b)`` where all were right, mirrored
    where all were wrong, and both where none was seen.

    Args:
        right: (P,) successes so far.
        wrong: (P,) failures so far.
        rest: (P,) rollouts to come, those in flight included.
        a: (P,) prior successes.
        b: (P,) prior failures.

    Complexity: O(P max(rest)).
    """
    a, b = a + right, b + wrong
    all_right, all_wrong = np.where(wrong > 0, 0.0, 1.0), np.where(right > 0, 0.0, 1.0)
    for i in range(int(rest.max(initial=0))):
        more = rest > i
        all_right = np.where(more, all_right * (a + i) / (a + b + i), all_right)
        all_wrong = np.where(more, all_wrong * (b + i) / (a + b + i), all_wrong)
    return np.maximum(1.0 - all_right - all_wrong, 0.0)


class Rule(Protocol):
    """What the allocator reads of the settings."""

    @property
    def n(self) -> int:
        """Rollouts of a group that is completed."""
        ...

    @property
    def probe(self) -> int:
        """Rollouts before a prompt may be given up."""
        ...

    @property
    def prior(self) -> float:
        """A = b of the belief about a prompt never seen."""
        ...

    @property
    def commit(self) -> float:
        """Chance from which the rest is drawn at once."""
        ...

    @property
    def abandon(self) -> float:
        """Chance up to which a prompt is given up."""
        ...

    @property
    def pool(self) -> int:
        """Prompts at hand per group wanted."""
        ...


class Sequential:
    """The allocator of `winnow.allocation.sara.Sara`; see there for the rule."""

    def __init__(self, rule: Rule, a: FloatArray, b: FloatArray) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._a, self._b = a, b
        self._wanted = max(1, len(a) // rule.pool)
        self._opened = 0
        self._given_up = np.zeros(len(a), bool)
        none = np.zeros(len(a), np.int64)
        forecast = chance(none, none, none + rule.n, a, b)
        # What nothing is known of is probed, however likely a long group is to be mixed under the prior.
        self._sure = (forecast >= rule.commit) & ((a != rule.prior) | (b != rule.prior))

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return what open prompts draw next, and the probes of spares that take the place of those given up."""
        if self.finished:
            return NOTHING
        if left is not None and not self._opened and left < self._rule.n:
            self._opened, self.finished = 1, True
            self.reason = "the budget is smaller than a group"
            return Grant(np.zeros(1, np.int64), np.array([left], np.int64))
        counts = self._continue(seen)
        self._open(seen, counts, left)
        prompts = np.flatnonzero(counts)
        if not len(prompts) and (seen.told == seen.granted).all():
            self.finished = True
            self.reason = self._why(int(np.count_nonzero(seen.signal() & ~self._given_up)))
        return Grant(prompts, counts[prompts])

    def _continue(self, seen: Observed) -> IntArray:
        """Give prompts up, and return what the others draw next, (P,)."""
        rule = self._rule
        complete = seen.told == seen.granted
        rest = np.maximum(rule.n - seen.told, 0)
        forecast = chance(seen.successes, seen.valid - seen.successes, rest, self._a, self._b)
        mixed = np.where(seen.signal(), 1.0, forecast)
        going = (seen.granted > 0) & (seen.granted < rule.n) & ~self._given_up
        probed = complete & (seen.granted >= rule.probe)
        commit = going & (seen.signal() | (probed & (mixed >= rule.commit)))
        self._given_up |= going & ~commit & probed & (mixed <= rule.abandon)
        single = going & complete & ~commit & ~self._given_up
        return np.where(commit, rule.n - seen.granted, single.astype(np.int64))

    def _open(self, seen: Observed, counts: IntArray, left: int | None) -> None:
        rule = self._rule
        dead = (seen.told == rule.n) & ~seen.signal()
        alive = (seen.granted > 0) & ~self._given_up & ~dead
        count = min(self._wanted - int(np.count_nonzero(alive)), len(counts) - self._opened)
        if left is not None:
            reserved = int((rule.n - seen.granted)[alive].sum())
            count = min(count, (left - reserved) // rule.n)
        if count > 0:
            fresh = slice(self._opened, self._opened + count)
            counts[fresh] = np.where(self._sure[fresh], rule.n, rule.probe)
            self._opened += count

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Everything is read from ``seen``."""

    def _why(self, usable: int) -> str:
        if usable >= self._wanted:
            return f"{usable} groups with signal, {self._wanted} wanted"
        spares = len(self._a) - self._opened
        ended = f"no room for n={self._rule.n} more" if spares else f"all {len(self._a)} prompts are used"
        return f"{usable} of {self._wanted} groups with signal: {ended}"
