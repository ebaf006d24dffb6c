"""What a finished step tells the rules that remember."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from winnow.candidates import Candidates
from winnow.groups import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Feedback:
    """One finished step, prompt by prompt. Arrays are (P,) over the prompts that got rollouts.

    Attributes:
        prompts: their ids and features.
        offered: all prompts the step opened, those that got nothing included.
        passed: candidates that the curriculum looked at and did not open.
        counts: int64, rollouts drawn.
        valid: int64, of these with a finite outcome.
        successes: int64, of these with an outcome above 0.5.
        mean: float64, mean outcome; NaN where none is finite.
        signal: bool, outcomes differ.
        worth: float64, mean |advantage| over the prompt's kept rows; 0 where none was kept.
        rewards: float64 (N,), of every rollout in the order told; NaN where unscorable.
        outcomes: float64 (N,), likewise, what signal is judged on.
        owners: int64 (N,), position in ``prompts`` of each rollout.
        entropy: float64 (P,), mean entropy of the prompt's rollouts; NaN where none was told.
    """

    prompts: Candidates
    counts: IntArray
    valid: IntArray
    successes: IntArray
    mean: FloatArray
    signal: npt.NDArray[np.bool_]
    worth: FloatArray
    rewards: FloatArray
    outcomes: FloatArray
    owners: IntArray
    entropy: FloatArray | None = None
    offered: Candidates | None = None
    passed: Candidates = field(default_factory=lambda: Candidates(np.zeros(0, np.int64)))

    def __len__(self) -> int:
        """Return the number of prompts."""
        return len(self.prompts)


@runtime_checkable
class Stateful(Protocol):
    """A part of a recipe that keeps something from step to step; checkpoints hold it."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything kept, as plain values."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        ...


@runtime_checkable
class Remembers(Stateful, Protocol):
    """A stateful part that learns from every finished step; prompts then need ids."""

    def observe(self, feedback: Feedback) -> None:
        """Take note of a finished step; called once, in `Step.finish`."""
        ...
