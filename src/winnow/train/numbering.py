"""Between the numbers a step asks by and the prompts of a session, for recipes whose rollouts continue others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from winnow.rollout import Rollout
from winnow.step import Step

if TYPE_CHECKING:
    from winnow.engine import Session


class Numbering:
    """Opens a prompt of the session for every fork that the step asks to continue, and leads rollouts back.

    Args:
        step: asks.
        session: samples; opened with ``forks=True`` where the recipe branches.
    """

    def __init__(self, step: Step, session: Session) -> None:
        self._step, self._session = step, session
        self._told: list[tuple[int, Rollout]] = []
        self._place: dict[int, int] = {}
        self._number: dict[int, int] = {}
        self._draws: Counter[int] = Counter()

    def places(self, requests: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return what to submit to the session for requests of the step."""
        return [(self._open(number), count) for number, count in requests]

    def _open(self, number: int) -> int:
        fork = self._step.fork(number)
        if fork is None:
            return number
        if number not in self._place:
            above, rollout = self._told[fork.row]
            place = self._session.extend(self._place.get(above, above), rollout.ids[: fork.cut].tolist())
            self._place[number], self._number[place] = place, number
        return self._place[number]

    def back(self, rollouts: Sequence[Rollout]) -> list[int]:
        """Return the numbers to tell rollouts under, in this order.

        Continuations get the prompt they go back to, their beginning and the text of the whole; draws are numbered on
        within each prompt.
        """
        numbers = [self._number.get(rollout.prompt, rollout.prompt) for rollout in rollouts]
        for number, rollout in zip(numbers, rollouts, strict=True):
            fork = self._step.fork(number)
            if fork is not None:
                above = self._told[fork.row][1]
                kept = above.ids[: fork.cut]
                rollout.prefix = kept if above.prefix is None else np.concatenate((above.prefix, kept))
                rollout.prompt = above.prompt
                rollout.text = self._session.decode(np.concatenate((rollout.prefix, rollout.ids)))
            rollout.draw = self._draws[rollout.prompt]
            self._draws[rollout.prompt] += 1
        self._told += zip(numbers, rollouts, strict=True)
        return numbers
