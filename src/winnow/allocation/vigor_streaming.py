"""VIGOR without barriers: a prompt moves up as soon as its rank among the completed ones is good enough."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort

import numpy as np

from winnow.allocation.base import NOTHING, Grant, share_out
from winnow.allocation.vigor_rounds import places
from winnow.groups import IntArray
from winnow.observed import Observed

Key = tuple[float, int, int]  # (-variance, rank, prompt): ascending order is best first


class Streaming:
    """The allocator of ``Vigor(barrier=False)``; see there for the rule."""

    def __init__(self, prompts: int, rollouts: int | None, sizes: list[int], keep: float, rank: IntArray) -> None:
        self.finished = False
        self.reason = ""
        self._keep = keep
        self._rank = rank
        self._last_size = sizes[-1]
        self._open_ended = rollouts is None
        self._places = _plan(prompts, rollouts, sizes, keep)
        levels = len(self._places)
        self._level: IntArray = np.full(prompts, -1, np.int64)
        self._entered = [0] * levels
        self._completed = [0] * levels
        self._waiting: list[list[Key]] = [[] for _ in range(levels)]
        self._moved: list[list[Key]] = [[] for _ in range(levels)]

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return one prompt's next level (or the whole first level); nothing while ranks are undecided."""
        if self._entered[0] == 0:
            counts = self._places[0]
            starters = np.flatnonzero(counts)
            self._entered[0] = len(starters)
            self._level[starters] = 0
            return Grant(starters, counts[starters])
        for level in range(len(self._places) - 1):
            if self._entered[level + 1] < len(self._places[level + 1]) and self._waiting[level]:
                key = self._waiting[level][0]
                if bisect_left(self._moved[level], key) < self._top(level):
                    return self._move_up(level, key)
        if all(entered == len(counts) for entered, counts in zip(self._entered, self._places, strict=True)):
            if self._open_ended:
                last = np.flatnonzero(self._level == len(self._places) - 1)
                return Grant(last, np.full(len(last), self._last_size, np.int64))
            self.finished = True
        return NOTHING

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Rank the prompts whose granted rollouts are now all in."""
        for prompt in np.unique(prompts).tolist():
            level = int(self._level[prompt])
            if seen.told[prompt] == seen.granted[prompt] and level < len(self._places) - 1:
                variance = float(seen.variance(np.array([prompt]))[0])
                heapq.heappush(self._waiting[level], (-variance, int(self._rank[prompt]), prompt))
                self._completed[level] += 1

    def _top(self, level: int) -> int:
        completed, size = self._completed[level], len(self._places[level])
        if completed >= max(1, size - 1) and self._entered[level] == size:
            return len(self._places[level + 1])
        return math.floor(self._keep * completed + 1e-9)

    def _move_up(self, level: int, key: Key) -> Grant:
        heapq.heappop(self._waiting[level])
        insort(self._moved[level], key)
        prompt = key[2]
        self._level[prompt] = level + 1
        count = self._places[level + 1][self._entered[level + 1]]
        self._entered[level + 1] += 1
        return Grant(np.array([prompt]), np.array([count]))


def _plan(prompts: int, rollouts: int | None, sizes: list[int], keep: float) -> list[IntArray]:
    """Return the rollouts of each place of each level, as the rounds would share the budget out."""
    plan: list[IntArray] = []
    active, left = prompts, rollouts
    for level, size in enumerate(sizes):
        wanted = active * size
        if left is not None:
            wanted = left if level == len(sizes) - 1 else min(wanted, left)
            left -= wanted
        if wanted == 0:
            break
        plan.append(share_out(wanted, np.arange(active)).counts)
        active = places(active, keep)
    return plan
