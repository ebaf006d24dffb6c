"""GRESO: skip prompts that gave no signal the last times, with a probability that grows with the streak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.allocation import Refill
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample, first_passing
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory


@dataclass(frozen=True, slots=True)
class Greso:
    """Skip a prompt before its rollouts with probability ``1 - max(p^z, floor)`` (GRESO, arXiv 2506.02177).

    z is the number of its last visits in a row whose mean outcome was at least ``easy`` (then p is p_easy) or at most
    ``hard`` (p_hard); the two are independent draws, easy first. A prompt never seen always passes, and a skipped visit
    leaves the streak as it is. After a step in which a prompt came up that had been seen before, p_easy and p_hard move
    by ``pace``, down where the share of visited prompts that were easy (hard) reached its target, up elsewhere, within
    [0.05, 0.95]. The targets split ``target`` one to two: hard prompts may become solvable.

    The thresholds are the authors'; 0.11 leaves room for a format reward. Ours: candidates are passed over one by one
    until the step is full or ``oversample`` times its prompts have been looked at, and prompts without signal are
    replaced by the recipe's allocation (`winnow.allocation.Refill`) instead of the authors' estimated batch.

    Complexity: O(candidates). State: two streaks per prompt, p_easy, p_hard.
    """

    easy: float = 0.98
    hard: float = 0.11
    start: float = 0.5
    floor: float = 0.01
    target: float = 0.25
    pace: float = 0.01
    oversample: int = 2
    _streaks: Memory = field(default_factory=lambda: Memory(easy=0, hard=0), init=False, compare=False, repr=False)
    _pass: dict[str, float] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_oversample("Greso", self.oversample)
        if not 0 <= self.hard < self.easy <= 1:
            raise ConfigError(f"Greso(hard={self.hard}, easy={self.easy}): use 0 <= hard < easy <= 1")
        self._pass.update(easy=self.start, hard=self.start)

    def skip(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities (P,) of the easy and of the hard check to skip each prompt."""
        easy, hard = (
            1 - np.maximum(self._pass[side] ** self._streaks.get(side, ids), self.floor) for side in ("easy", "hard")
        )
        return easy, hard

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the first candidates that pass both checks."""
        easy, hard = self.skip(candidates.ids)
        passes = (rng.random(len(easy)) >= easy) & (rng.random(len(hard)) >= hard)
        return first_passing(np.flatnonzero(passes), wanted, len(candidates))

    def observe(self, feedback: Feedback) -> None:
        """Lengthen or break streaks, and adapt p_easy and p_hard."""
        judged = feedback.valid > 0
        ids, mean = feedback.prompts.ids[judged], feedback.mean[judged]
        again = bool(self._streaks.known(ids).any())
        for side, share, tied in (("easy", 1 / 3, mean >= self.easy), ("hard", 2 / 3, mean <= self.hard)):
            if again:
                reached = tied.mean() >= self.target * share
                moved = self._pass[side] + (-self.pace if reached else self.pace)
                self._pass[side] = float(np.clip(moved, 0.05, 0.95))
            self._streaks.set(side, ids, np.where(tied, self._streaks.get(side, ids) + 1, 0))

    def state_dict(self) -> dict[str, Any]:
        """Return streaks and probabilities."""
        return {"streaks": self._streaks.state_dict(), "pass": dict(self._pass)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._streaks.load_state_dict(state["streaks"])
        self._pass.update(state["pass"])


RULES["greso"] = Greso
declare(
    "greso",
    About(
        paper="GRESO, arXiv 2506.02177",
        idea="skip prompts whose groups had no signal the last times; replace those that have none now",
        saves="rollouts on prompts that are solved or out of reach, from the second epoch on",
        costs="a prompt that becomes solvable is found late; rounds in sequence",
        bias="which prompts train depends on their rewards",
    ),
    lambda: {"curriculum": Greso(), "allocation": Refill(pool=2), "gate": "zero_signal"},
)
