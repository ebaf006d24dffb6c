"""Zero-variance recycling: prompts without signal stay in the pool, those that gave some sit out their next turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample, first_passing
from winnow.feedback import Feedback
from winnow.memory import Memory


@dataclass(frozen=True, slots=True)
class Recycle:
    """A buffer of prompts without signal (after zero-variance recycling, arXiv 2606.10709).

    A prompt whose outcomes differed has served and weighs 0; one whose outcomes were all equal stays, since about a
    fifth of them give signal later. Ours: a prompt that has served ``rounds`` visits without being opened comes back,
    so that a pool never runs dry; prompts are looked at in the order offered, and the first that has not served are
    opened.

    Attributes:
        rounds: visits that a prompt which gave signal sits out; 1 leaves it out once.
        oversample: candidates looked at for each prompt wanted, at most.

    Every prompt comes back after ``rounds`` visits, so none is lost. Complexity: O(candidates). State: one number per
    prompt.
    """

    rounds: int = 1
    oversample: int = 2
    _rest: Memory = field(default_factory=lambda: Memory(visits=0), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_oversample("Recycle", self.oversample)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Open the first candidates that are not sitting out."""
        return first_passing(np.flatnonzero(self._rest.get("visits", candidates.ids) <= 0), wanted, len(candidates))

    def observe(self, feedback: Feedback) -> None:
        """Let prompts with signal sit out; count the visit of those that were looked at and passed over."""
        passed = feedback.passed.ids
        self._rest.set("visits", passed, np.maximum(self._rest.get("visits", passed) - 1, 0))
        self._rest.set("visits", feedback.prompts.ids, np.where(feedback.signal, self.rounds, 0))

    def state_dict(self) -> dict[str, Any]:
        """Return how long each prompt sits out."""
        return self._rest.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._rest.load_state_dict(state)


RULES["recycle"] = Recycle
declare(
    "recycle",
    About(
        paper="zero-variance recycling, arXiv 2606.10709",
        idea="prompts without signal stay in the pool, those that gave some sit out their next turn",
        saves="nothing at once; hard prompts are met again while the policy changes",
        costs="rollouts on prompts that stay out of reach",
        bias="which prompts train depends on their rewards",
        status="decision",
    ),
    lambda: {"curriculum": Recycle()},
)
