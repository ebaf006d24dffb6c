"""The learning rate as a function of the optimiser steps taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from winnow.errors import ConfigError, unknown


@dataclass(frozen=True, slots=True)
class Schedule:
    """Linear warm-up, then constant or cosine.

    Attributes:
        lr: the peak.
        warmup_steps: step k (from 0) of the warm-up uses ``lr * (k + 1) / warmup_steps``.
        shape: ``constant``, or ``cosine`` down to 0 at ``total_steps``.
        total_steps: optimiser steps of the run, needed by ``cosine``.

    Raises:
        ConfigError: for a value outside its range.
    """

    lr: float
    warmup_steps: int = 0
    shape: Literal["constant", "cosine"] = "constant"
    total_steps: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.lr < math.inf:
            raise ConfigError(f"lr is {self.lr}; it must be a finite number >= 0")
        if self.warmup_steps < 0:
            raise ConfigError(f"warmup_steps is {self.warmup_steps}; it must be >= 0")
        if self.shape not in ("constant", "cosine"):
            raise unknown("schedule", self.shape, ("constant", "cosine"))
        if self.shape == "cosine" and (self.total_steps is None or self.total_steps <= self.warmup_steps):
            raise ConfigError(
                f"schedule 'cosine' needs total_steps above warmup_steps={self.warmup_steps}, found {self.total_steps}"
            )

    def at(self, step: int) -> float:
        """Return the learning rate of optimiser step ``step``, counted from 0."""
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        if self.shape == "constant" or self.total_steps is None:
            return self.lr
        done = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return self.lr * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))
