"""The counters of a run: what has been spent so far, and how many steps in a row went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_BINS = 11


@dataclass
class Totals:
    """Counters since the first step; a checkpoint holds them.

    Attributes:
        steps: steps finished, skipped updates included.
        rollouts: rollouts generated.
        rows: rollouts trained on.
        tokens: tokens generated.
        trained_tokens: tokens trained on.
        prompts: prompts drawn.
        skipped: steps without any trainable row, in which nothing was updated.
        updates: optimiser steps.
        seconds: training time, evaluation and checkpoints aside.
        no_signal: sum over steps of the share of prompts without signal.
    """

    steps: int = 0
    rollouts: int = 0
    rows: int = 0
    tokens: int = 0
    trained_tokens: int = 0
    prompts: int = 0
    skipped: int = 0
    updates: int = 0
    seconds: float = 0.0
    no_signal: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the counters by name."""
        return asdict(self)


@dataclass
class Streaks:
    """Steps in a row in which something was wrong, and what the prompts of those steps looked like.

    Attributes:
        no_signal: steps in a row without a trainable row.
        nonfinite: updates in a row with a loss or gradient that is not finite.
        pass_rates: prompts of the current streak by pass rate: 11 bins from 0 to 1.
    """

    no_signal: int = 0
    nonfinite: int = 0
    pass_rates: list[int] = field(default_factory=lambda: [0] * _BINS)

    def tied(self, pass_rates: Sequence[float]) -> None:
        """Count one more step without a trainable row; ``pass_rates`` holds one number per prompt."""
        self.no_signal += 1
        for rate in pass_rates:
            self.pass_rates[round(min(1.0, max(0.0, rate)) * (_BINS - 1))] += 1

    def learned(self) -> None:
        """End the streak of steps without a trainable row."""
        self.no_signal = 0
        self.pass_rates = [0] * _BINS

    def histogram(self) -> str:
        """Return the pass rates of the streak as lines of text, one per bin that holds a prompt."""
        top = max([*self.pass_rates, 1])
        return "\n".join(
            f"  pass rate {index / (_BINS - 1):.1f}  {'#' * max(1, 40 * count // top)} {count} prompts"
            for index, count in enumerate(self.pass_rates)
            if count
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the counters by name."""
        return asdict(self)

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Streaks:
        """Build from `as_dict`."""
        return cls(**{**state, "pass_rates": list(state["pass_rates"])})
