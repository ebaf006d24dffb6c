"""Rounds of equal size for every prompt, until it has seen enough or has its most."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from winnow.allocation.base import NOTHING, Grant
from winnow.errors import ConfigError
from winnow.groups import IntArray
from winnow.observed import Observed


class Stopping(Protocol):
    """What the settings of such a rule have in common."""

    @property
    def n(self) -> int:
        """The most rollouts of one prompt."""
        ...

    @property
    def size(self) -> int:
        """Rollouts per round."""
        ...

    @property
    def positives(self) -> int:
        """Successes that a prompt needs."""
        ...

    @property
    def negatives(self) -> int:
        """Failures that a prompt needs."""
        ...

    @property
    def barrier(self) -> bool:
        """Wait for whole rounds."""
        ...


class Until:
    """The allocator: ``size`` more rollouts for every prompt short of successes or failures, at most ``n`` in all.

    A round of a prompt counts as a whole before the prompt is looked at. Decisions concern one prompt at a time, so
    that waiting for the others (``barrier``) changes nothing but the time it takes, as long as the budget lasts. A
    budget that cannot pay a round is shared out evenly over the prompts due, the remainder to those offered first.
    Unscorable rollouts count towards ``n`` only.

    Complexity: O(P) per call.
    """

    def __init__(self, rule: Stopping, prompts: int) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._active = np.ones(prompts, bool)

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return the next round of every prompt whose last one is in."""
        rule = self._rule
        complete = seen.told == seen.granted
        if self.finished or (rule.barrier and not complete.all()):
            return NOTHING
        failures = seen.valid - seen.successes
        enough = (seen.successes >= rule.positives) & (failures >= rule.negatives)
        self._active &= ~(complete & (enough | (seen.granted >= rule.n)))
        due = np.flatnonzero(self._active & complete)
        if not len(due):
            if not self._active.any():
                self.finished = True
                short = int(np.count_nonzero(~enough))
                self.reason = f"{len(seen) - short} of {len(seen)} prompts have seen enough, {short} got n={rule.n}"
            return NOTHING
        counts = np.minimum(rule.size, rule.n - seen.granted[due])
        return Grant(due, counts) if left is None else cut(due, counts, left)

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Everything is read from ``seen``."""


def cut(prompts: IntArray, counts: IntArray, left: int) -> Grant:
    """Return the grant, or as even a share of it as ``left`` rollouts allow, the remainder to the first prompts.

    Complexity: O(len(prompts) * largest count) at worst; one pass where the budget lasts.
    """
    if int(counts.sum()) <= left:
        return Grant(prompts, counts)
    level = 0
    while int(np.minimum(counts, level + 1).sum()) <= left:
        level += 1
    share = np.minimum(counts, level)
    more = np.flatnonzero(counts > level)[: left - int(share.sum())]
    share[more] += 1
    return Grant(prompts[share > 0], share[share > 0])


def check_wanted(owner: str, n: int, positives: int, negatives: int) -> None:
    """Raise `ConfigError` unless some outcome of n rollouts has that many successes and failures."""
    if positives + negatives < 1 or positives + negatives > n:
        raise ConfigError(
            f"{owner}(positives={positives}, negatives={negatives}): of at most n={n} rollouts; use 1 to {n} together"
        )
