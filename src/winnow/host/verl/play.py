"""One step of a recipe, played by prompts that finish in any order: who may run what, what came back, what trains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from winnow.batch import TrainBatch
from winnow.errors import BudgetError
from winnow.groups import FloatArray, IntArray
from winnow.step import Step

Session = tuple[str, int]
"""A rollout: the uid of its prompt, and 0, 1, 2, ... among the rollouts of this prompt (verl's session id)."""


class Report(NamedTuple):
    """What came of a rollout.

    Attributes:
        session: number of the rollout among those of its prompt.
        reward: what is optimised; None or NaN is unscorable.
        outcome: what signal is judged on; None: the reward.
        tokens: generated ones; None for a rollout that failed, so that nobody knows.
    """

    session: int
    reward: float | None
    outcome: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Told:
    """Every rollout of a step, in the order told; arrays (N,).

    Attributes:
        sessions: which rollout.
        owners: index of its prompt.
        rewards: NaN for unscorable ones.
        outcomes: NaN for none.
    """

    sessions: Sequence[Session]
    owners: IntArray
    rewards: FloatArray
    outcomes: FloatArray


class Play:
    """A step in play; knows nothing of Ray or asyncio.

    A recipe that decides in rounds is told a wave at once, in the order of prompts and sessions, when the last rollout
    of the wave is in: the same rewards make the same choices, whoever finishes first. A recipe that streams is told
    what comes as it comes.

    Args:
        step: of the recipe, just begun.
        uids: of the prompts, in the order of the step.

    Attributes:
        closed: everything is told and nothing is left to ask for.
        late: reports that came when their rollout was not out.
        lost: rollouts given up, by prompt.
    """

    def __init__(self, step: Step, uids: Sequence[str]) -> None:
        self._step = step
        self._uids = list(uids)
        self._place = {uid: place for place, uid in enumerate(uids)}
        self._started: Counter[int] = Counter()
        self._out: list[set[int]] = [set() for _ in uids]
        self._granted: list[list[int]] = [[] for _ in uids]
        self._held: dict[tuple[int, int], Report] = {}
        self._told: list[tuple[int, Report]] = []
        self._dead: set[int] = set()
        self._fresh: list[str] = []
        self.closed = False
        self.late = 0
        self.lost: Counter[str] = Counter()
        self._settle()

    def fresh(self) -> list[str]:
        """Return the prompts that were granted rollouts since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def take(self, uid: str) -> list[int]:
        """Return the sessions that the prompt may run now, increasing; each is handed out once."""
        place = self._place[uid]
        granted, self._granted[place] = self._granted[place], []
        return granted

    def report(self, uid: str, reports: Iterable[Report]) -> None:
        """Take in rollouts of a prompt. What is not out (told twice, or given up as lost) is counted and ignored.

        Raises:
            BudgetError: more tokens were generated than the budget reserved.
        """
        place = self._place[uid]
        for report in reports:
            if report.session not in self._out[place]:
                self.late += 1
                continue
            self._out[place].discard(report.session)
            self._held[place, report.session] = report
        self._settle()

    def lose(self, uids: Iterable[str]) -> None:
        """Give prompts up: what is out, and whatever is granted later, counts as generated and unscorable."""
        places = [self._place[uid] for uid in uids]
        self._dead.update(places)
        for place in places:
            self._bury(place)
        self._settle()

    def _bury(self, place: int) -> None:
        gone = self._out[place]
        self._held |= {(place, session): Report(session, None) for session in gone}
        self._out[place], self._granted[place] = set(), []
        self.lost[self._uids[place]] += len(gone)

    def _settle(self) -> None:
        while not self.closed:
            self._tell()
            if self._step.done:
                self.closed = True
            elif not self._grant():
                if self._step.in_flight == 0:
                    raise BudgetError("the recipe asks for nothing and waits for results, but nothing is in flight")
                return

    def _tell(self) -> None:
        if not self._held or (self._step.recipe.barrier and len(self._held) < self._step.in_flight):
            return
        wave = sorted(self._held.items())
        self._held = {}
        self._told += [(place, report) for (place, _), report in wave]
        self._step.tell(
            [place for (place, _), _ in wave],
            [report.reward for _, report in wave],
            outcomes=[report.outcome for _, report in wave],
            tokens=[self._tokens(report) for _, report in wave],
        )

    def _tokens(self, report: Report) -> int:
        """Return what a rollout is charged: all that was reserved for it where nobody knows what it generated."""
        if report.tokens is not None:
            return report.tokens
        return self._step.budget.longest or 0 if self._step.budget.tokens is not None else 0

    def _grant(self) -> bool:
        """Hand out what the recipe asks for; True if anything came back at once, because its prompt is lost."""
        for place, count in self._step.ask():
            first = self._started[place]
            self._started[place] += count
            sessions = range(first, first + count)
            self._out[place].update(sessions)
            if place in self._dead:
                self._bury(place)
            else:
                self._granted[place] += sessions
                self._fresh.append(self._uids[place])
        return bool(self._held) and (not self._step.recipe.barrier or len(self._held) == self._step.in_flight)

    def finish(self) -> tuple[TrainBatch, Told]:
        """Return what trains, and every rollout in the order told.

        Raises:
            ConfigError: rollouts are still out.
        """
        batch = self._step.finish()
        numbers = [[np.nan if value is None else value for value in column] for column in (
            [report.reward for _, report in self._told], [report.outcome for _, report in self._told]
        )]  # fmt: skip
        rewards, outcomes = (np.asarray(column, np.float64) for column in numbers)
        return batch, Told(
            sessions=[(self._uids[place], report.session) for place, report in self._told],
            owners=np.array([place for place, _ in self._told], np.int64),
            rewards=rewards,
            outcomes=np.where(np.isnan(outcomes), rewards, outcomes),
        )
