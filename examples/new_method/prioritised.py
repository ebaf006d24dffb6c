"""Kimi k1.5: open prompts with a chance that falls with their success rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, best, check_oversample
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.memory import Memory


@dataclass(frozen=True, slots=True)
class Prioritised:
    """Draw prompts without replacement, in proportion to ``1 - s`` (Kimi k1.5, arXiv 2501.12599, sampling strategies).

    s is the share of successes among all scorable rollouts of a prompt so far. The source says nothing of prompts
    without any, nor of solved ones; ours: s is 0 for the first, and no weight is below ``floor``, so that every
    prompt can come back. An outcome above 0.5 is a success; unscorable rollouts count nowhere. There are no ties.

    Known bias: which prompts train depends on their past rewards.

    Settings:
        floor: least weight of a prompt, in (0, 1].
        oversample: candidates per prompt opened.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(candidates log candidates). State: two numbers per prompt.
    """

    floor: float = 0.05
    oversample: int = 4
    _record: Memory = field(
        default_factory=lambda: Memory(successes=0.0, trials=0.0), init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        check_oversample("Prioritised", self.oversample)
        if not 0 < self.floor <= 1:
            raise ConfigError(f"Prioritised(floor={self.floor!r}): use a weight in (0, 1], as 0.05")

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the candidates with the highest log-weight plus Gumbel noise, which is such a draw."""
        successes, trials = (self._record.get(name, candidates.ids) for name in ("successes", "trials"))
        weight = np.maximum(1.0 - successes / np.maximum(trials, 1.0), self.floor)
        return best(np.log(weight) + rng.gumbel(size=len(weight)), wanted, rng)

    def observe(self, feedback: Feedback) -> None:
        """Count the rollouts of a finished step."""
        self._record.add("successes", feedback.prompts.ids, feedback.successes)
        self._record.add("trials", feedback.prompts.ids, feedback.valid)

    def state_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return self._record.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._record.load_state_dict(state)


RULES["prioritised"] = Prioritised
declare(
    "prioritised",
    About(
        paper="Kimi k1.5, arXiv 2501.12599 (its prioritised sampling)",
        idea="draw prompts in proportion to one minus their success rate so far",
        saves="rollouts on prompts that are solved",
        costs="prompts out of reach are drawn most",
        bias="which prompts train depends on their past rewards",
        status="decision",
    ),
    lambda: {"curriculum": Prioritised()},
)
