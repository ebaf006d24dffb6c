"""Pilot-Commit's option: all commits train, and of the pilots those that vary most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import rank_within
from winnow.selection.base import PARTS, Selection
from winnow.selection.max_variance import max_variance


@dataclass(frozen=True, slots=True)
class Pilots:
    """Of the first ``initial`` rows of a group keep the ``effective`` of largest variance, and all rows after those.

    The option n_effective of Pilot-Commit (2605.26606), whose authors have it for 0/1 rewards; `max_variance` extends
    it to graded ones. The first ``initial`` scorable rows count as pilots, in the order told, so an unscorable pilot is
    made up for by the first commit (ours).

    ``initial`` has to be that of the allocation; overriding the key in a recipe changes both.

    Known bias: that of `max_variance`, on the pilots.

    Attributes:
        initial: rollouts of the pilot.
        effective: pilots that train.

    Raises:
        ConfigError: unless 1 <= effective <= initial.

    Complexity: O(N log N).
    """

    initial: int = 8
    effective: int = 4

    def __post_init__(self) -> None:
        for name, value in (("initial", self.initial), ("effective", self.effective)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= self.initial:
                raise ConfigError(
                    f"Pilots(initial={self.initial!r}, effective={self.effective!r}): {name} has to be a whole number "
                    "from 1 to initial"
                )

    @property
    def name(self) -> str:
        """``pilots``."""
        return "pilots"

    @property
    def m(self) -> float:
        """All commits train, so there is no share below 1 that holds for every group."""
        return 1.0

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator) -> Selection:
        """Return the kept rows."""
        values, labels = np.asarray(rewards, np.float64), np.asarray(groups)
        pilot = rank_within(labels) < self.initial
        rows = np.flatnonzero(pilot)
        best = rows[max_variance(values[rows], self.effective, labels[rows]).rows]
        chosen = np.sort(np.concatenate((best, np.flatnonzero(~pilot))))
        return Selection(chosen, np.ones(len(chosen)))


PARTS["pilots"] = Pilots
