"""Solved prompts leave the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.allocation.base import check_count
from winnow.allocation.pilot_commit import PilotCommit
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample, first_passing
from winnow.feedback import Feedback
from winnow.gating.continued import Continued
from winnow.groups import IntArray
from winnow.memory import Memory
from winnow.objective.config import Objective

SOLVED = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Evict:
    """Never again open a prompt that was solved by all its rollouts, ``streak`` visits in a row (2605.26606).

    The paper evicts at the first perfect pilot, from the next epoch on, and finds that about a fifth of the prompts
    solved in one epoch were not in the next; it suggests two in a row, which is ``streak=2``. A visit without a
    scorable rollout leaves the streak as it is, any other breaks it.

    Candidates are passed over one by one, until the step is full or ``oversample`` times its prompts have been looked
    at. Where every candidate is evicted the first is opened all the same, as a step needs one; should it fail, it is
    back in the data.

    Complexity: O(candidates). State: one streak per prompt solved at some time.

    Attributes:
        streak: perfect visits in a row that evict a prompt.
        oversample: candidates looked at per prompt wanted.

    Raises:
        ConfigError: if a setting is out of range.
    """

    streak: int = 1
    oversample: int = 1
    _solved: Memory = field(default_factory=lambda: Memory(streak=0), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_count("Evict", "streak", self.streak, 1)
        check_oversample("Evict", self.oversample)

    def evicted(self, ids: IntArray) -> npt.NDArray[np.bool_]:
        """Return bool (P,): the prompt has left the data."""
        return self._solved.get("streak", ids) >= self.streak

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the first candidates still in the data."""
        return first_passing(np.flatnonzero(~self.evicted(candidates.ids)), wanted, len(candidates))

    def observe(self, feedback: Feedback) -> None:
        """Lengthen or break streaks."""
        solved = feedback.mean >= SOLVED
        told = (feedback.valid > 0) & (solved | self._solved.known(feedback.prompts.ids))
        ids = feedback.prompts.ids[told]
        self._solved.set("streak", ids, np.where(solved[told], self._solved.get("streak", ids) + 1, 0))

    def state_dict(self) -> dict[str, Any]:
        """Return the streaks."""
        return self._solved.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._solved.load_state_dict(state)


RULES["evict"] = Evict
declare(
    "pilot-commit",
    About(
        paper="Pilot-Commit, arXiv 2605.26606",
        idea="8 pilots of 3 times the prompts; those with a success rate in [1/8, 3/4] get 24 more; solved ones leave",
        saves="steps: large groups on prompts of middling difficulty only",
        costs="pilots of the prompts turned away; two waves per step; an evicted prompt is not checked again",
        bias="the pilot decides and trains: baselines lean towards the band",
        status="decision",
    ),
    lambda: {
        "curriculum": Evict(),
        "allocation": PilotCommit(),
        "gate": Continued(PilotCommit().initial),
        "objective": Objective(clip_high=0.28),
    },
)
