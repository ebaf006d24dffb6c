"""Request by request: the group with the highest index draws next, or a prompt that is not open yet."""

from __future__ import annotations

import heapq
import math
from typing import Protocol

import numpy as np

from winnow.allocation.base import NOTHING, Grant
from winnow.allocation.outlook import Outlook
from winnow.decisions import CLOSED, Decisions
from winnow.effect import Noise, worth
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed


class Rule(Protocol):
    """What the allocator reads of the settings; see `winnow.allocation.winnow.Winnow`."""

    @property
    def most(self) -> int:
        """Largest group."""
        ...

    @property
    def noise(self) -> Noise:
        """Noise of a rollout on either side."""
        ...

    @property
    def price(self) -> float:
        """Cost of a trained row in rollouts."""
        ...

    @property
    def skip(self) -> float:
        """Share of the rate of an unknown prompt below which a candidate comes last."""
        ...

    @property
    def waves(self) -> int:
        """Rounds, or 0."""
        ...


class Indexed:
    """The allocator of `winnow.allocation.winnow.Winnow`; see there for the rule.

    Args:
        rule: its settings.
        a: (P,) successes believed in.
        b: (P,) failures.
        tables: the outlook of each prompt.
        unknown: the rate of a prompt never seen.
    """

    def __init__(self, rule: Rule, a: FloatArray, b: FloatArray, tables: list[Outlook], unknown: float) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._unknown = unknown
        self._a, self._b, self._tables = a, b, tables
        first = np.array([table.rate for table in tables])
        self._order: list[int] = np.lexsort((np.arange(len(first)), first < rule.skip * unknown)).tolist()
        self._opened = 0
        self._waiting: list[tuple[float, int]] = []
        self._later: list[tuple[float, int]] = []
        self._flying: set[int] = set()
        self._reserved: dict[int, float] = {}
        self._round, self._handed_out = 1, False

    def explain(self, seen: Observed) -> Decisions:
        """Return what each opened prompt was believed to be, got and taught, and why it got no more."""
        opened = np.flatnonzero(seen.told)
        right, valid = seen.successes[opened], seen.valid[opened]
        failing = ((self._b + seen.valid - seen.successes) / (self._a + self._b + seen.valid))[opened]
        at = zip(opened.tolist(), right.tolist(), (valid - right).tolist(), strict=True)
        return Decisions(
            prompts=opened,
            before=(self._a / (self._a + self._b))[opened],
            rollouts=seen.told[opened],
            right=right,
            effect=worth(right, valid - right, failing, self._rule.noise, self._rule.price * self._unknown).effect,
            closed=tuple(self._closed(*place) for place in at),
            rate=self._unknown,
        )

    def _closed(self, prompt: int, right: int, wrong: int) -> str:
        contrast, solved, no_success, out_of_budget = CLOSED
        if right + wrong < self._rule.most and self._tables[prompt].index[right, wrong] > self._unknown:
            return out_of_budget
        return contrast if right and wrong else solved if right else no_success

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return the requests with the highest index; nothing where it is better to wait for results.

        In rounds all requests of a round come at once: nothing that is told before its end changes it.
        """
        requests: list[tuple[int, int]] = []
        while (left is None or left > 0) and (request := self._best(seen, left)):
            requests.append(request)
            left = None if left is None else left - request[1]
            if not self._rule.waves:
                break
        return Grant(*np.array(requests, np.int64).T) if requests else NOTHING

    def _best(self, seen: Observed, left: int | None) -> tuple[int, int] | None:
        """Return a prompt and how many rollouts it gets."""
        if self.finished or self._awaited():
            return None
        fresh = self._order[self._opened] if self._opened < len(self._order) else None
        value = -math.inf if fresh is None else self._tables[fresh].rate
        if self._waiting and (-self._waiting[0][0] >= value or (left == 1 and not self._reserved)):
            return self._request(heapq.heappop(self._waiting)[1], seen, left)
        if fresh is not None and self._affordable(fresh, left):
            self._opened += 1
            return self._request(fresh, seen, left)
        if self._waiting and not self._reserved:
            return self._request(heapq.heappop(self._waiting)[1], seen, left)
        self._handed_out = self._rule.waves > 0
        if not self._flying and not self._later and fresh is None:
            self.finished = True
            self.reason = f"all {len(self._order)} prompts have most={self._rule.most} rollouts"
        return None

    def _awaited(self) -> bool:
        """Say whether a round is handed out and not in yet; where it is in, begin the next."""
        if not self._handed_out or self._flying:
            return self._handed_out
        self._reserved.clear()
        self._waiting, self._later = self._later, self._waiting
        heapq.heapify(self._waiting)
        self._round, self._handed_out = self._round + 1, False
        return False

    def _affordable(self, fresh: int, left: int | None) -> bool:
        if left is None or not self._reserved or 0 < self._rule.waves <= self._round:
            return True
        return bool(left - sum(self._reserved.values()) >= self._tables[fresh].size[0, 0])

    def _request(self, prompt: int, seen: Observed, left: int | None) -> tuple[int, int]:
        table, right = self._tables[prompt], int(seen.successes[prompt])
        at = right, int(seen.valid[prompt]) - right
        room = self._rule.most - int(seen.granted[prompt])
        count = min(int(table.size[at]), room, room if left is None else left)
        self._flying.add(prompt)
        self._reserved[prompt] = float(table.rest[at])
        return prompt, count

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Let prompts whose requests are complete compete with their new index.

        In rounds their reserve stays until the round is in, so that no length of a rollout decides what it opens.
        """
        for prompt in np.unique(prompts).tolist():
            if seen.told[prompt] == seen.granted[prompt]:
                self._flying.discard(prompt)
                if not self._rule.waves:
                    self._reserved.pop(prompt, None)
                if seen.granted[prompt] < self._rule.most:
                    right = int(seen.successes[prompt])
                    index = float(self._tables[prompt].index[right, int(seen.valid[prompt]) - right])
                    heapq.heappush(self._later if self._rule.waves else self._waiting, (-index, prompt))
