"""Which of several reward columns is the verdict, where their sum is the reward."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.groups import FloatArray
from winnow.replay.columns import Names, number


class Outcomes:
    """The reward columns that have held 0 or 1 in every rollout so far, one number per rollout and column."""

    def __init__(self) -> None:
        self._of: dict[str, array[float]] | None = None

    def add(self, names: Names, record: Mapping[str, Any]) -> None:
        """Look at the columns of one rollout; a column that is missing, or is neither 0 nor 1, is out for good."""
        if self._of is None:
            self._of = {name: array("d") for name in names.rewards} if len(names.rewards) > 1 else {}
        for name in list(self._of):
            value = number(record, name)
            if value in (0.0, 1.0):
                self._of[name].append(value)
            else:
                del self._of[name]

    def settle(self, names: Names, reward: FloatArray) -> tuple[FloatArray | None, str]:
        """Return the verdicts (N,), None where the reward is taken for them, and what to say of it.

        Args:
            names: of the log.
            reward: (N,) sums of the columns, NaN where unscorable.
        """
        added = f"reward: the sum of {' + '.join(names.rewards)}"
        scored = reward[np.isfinite(reward)]
        if "outcome" in names.of or not len(scored) or (scored.min() >= 0 and scored.max() <= 1):
            return None, f"{added}; --column reward=NAME takes another"
        found = self._of or {}
        if len(found) == 1:
            ((name, values),) = found.items()
            return np.frombuffer(values, np.float64), (
                f"{added}; outcome: {name}, the only one of them that is 0 or 1 throughout; --column outcome=NAME "
                "takes another"
            )
        flags = " or ".join(f"--column outcome={name}" for name in found or names.rewards)
        return None, (
            f"{added}, {scored.min():.3g} to {scored.max():.3g}, is also taken for the outcome, so ties and spreads "
            f"are those of the sum; say which column is the verdict: {flags}"
        )
