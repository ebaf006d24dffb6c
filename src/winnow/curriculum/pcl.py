"""PCL: a value model predicts each candidate's success rate, and those predicted nearest to one half are opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from winnow.about import About, declare
from winnow.advantage import Advantage
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample
from winnow.curriculum.network import Record, Ridge, inputs
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray


@dataclass(frozen=True, slots=True)
class Pcl:
    """Open the candidates with the smallest ``|V(x) - target|`` (Prompt Curriculum Learning, arXiv 2510.01135).

    V is fitted after each step to the success rates of its prompts by squared error, so it lags the policy by one step.
    The source trains a language model for V. Ours is a ridge regression on the prompts' features in which older steps
    count ``retain`` per step, blended with each prompt's own record, fading at the same pace:
    ``(strength V + successes) / (strength + trials)``. Without features V is the mean success rate of all prompts, and
    what tells candidates apart are their records alone.

    Ties go to the candidate offered first, as do all of them before the first step. An outcome above 0.5 is a success;
    unscorable rollouts count nowhere. No chance is kept for prompts that are predicted far from the target; their
    records fade, so that V, which other prompts teach, decides of them in the end.

    Settings:
        target: predicted success rate wanted, in [0, 1].
        retain: share of the evidence that outlasts a step, in [0, 1].
        strength: rollouts of a prompt that count as much as V, above 0; a large number leaves V alone.
        oversample: candidates per prompt opened, the source's k.

    Raises:
        ConfigError: if a setting is out of range, or the features' width changes between steps.

    Complexity: O(candidates (D + log candidates)) and O(K^3) for the fit, K at most 65. State: K^2 numbers, and three
    per prompt.
    """

    target: float = 0.5
    retain: float = 0.99
    strength: float = 4.0
    oversample: int = 4
    _value: Ridge = field(init=False, compare=False, repr=False)
    _record: Record = field(init=False, compare=False, repr=False)
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_oversample("Pcl", self.oversample)
        for name in ("target", "retain"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Pcl({name}={getattr(self, name)!r}): use a number in [0, 1]")
        if not 0 < self.strength < np.inf:
            raise ConfigError(f"Pcl(strength={self.strength!r}): use a finite number of rollouts above 0, as 4")
        object.__setattr__(self, "_value", Ridge(self.retain))
        object.__setattr__(self, "_record", Record(self.retain))

    def predicted(self, candidates: Candidates) -> FloatArray:
        """Return the predicted success rate (P,) of each candidate."""
        shared = self._value.rates(inputs(candidates.features, len(candidates)))
        return self._record.blended(candidates.ids, shared, self.strength)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the candidates predicted nearest to the target."""
        distance = np.round(np.abs(self.predicted(candidates) - self.target), 12)
        return Choice(np.sort(np.argsort(distance, kind="stable")[:wanted]), len(candidates))

    def observe(self, feedback: Feedback) -> None:
        """Fit V to the step's success rates, and add them to the records."""
        judged = feedback.valid > 0
        x = inputs(feedback.prompts.features, len(feedback))[judged]
        self._value.learn(x, feedback.successes[judged] / feedback.valid[judged])
        self._record.learn(feedback)

    def state_dict(self) -> dict[str, Any]:
        """Return V and the records."""
        return {"value": self._value.state_dict(), "record": self._record.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._value.load_state_dict(state["value"])
        self._record.load_state_dict(state["record"])


RULES["pcl"] = Pcl
declare(
    "pcl",
    About(
        paper="PCL, arXiv 2510.01135; its value model is a regression on prompt features here, not a language model",
        idea="predict each candidate's success rate, open those predicted nearest to one half",
        saves="rollouts on prompts predicted to be solved or out of reach, seen before or not",
        costs="passes over three of four candidates; as good as the features are",
        bias="which prompts train depends on past rewards",
        status="decision",
    ),
    lambda: {"curriculum": Pcl(), "advantage": Advantage("centred")},
)
