"""Pilot-Commit: pilots measure the success rate of many prompts; those in a band get the rest of the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from winnow.allocation.base import RULES, Allocator
from winnow.allocation.screening import Screening, check_phases, further_for
from winnow.candidates import Candidates
from winnow.errors import unknown
from winnow.gating.band import check_band, inside
from winnow.groups import FloatArray
from winnow.observed import Observed


@dataclass(frozen=True, slots=True)
class PilotCommit:
    """Pilot with ``initial`` rollouts; prompts with ``low <= p <= high`` get ``further`` more (2605.26606).

    p is the mean outcome of the pilot; both edges pass. Below ``low`` a prompt is hard and comes again in the next
    epoch, above ``high`` it is easy and skipped for this one: the host's epochs do both. That prompts solved by every
    pilot leave the data is the curriculum's part, `winnow.curriculum.evict.Evict`. The recipe ``pilot-commit`` has
    both, and the gate `winnow.gating.continued.Continued`; a key that several parts have (``initial``) changes all of
    them.

    `Screening` says how candidates and budget are dealt with, and what is ours: pilots and commits belong to one step
    and one policy, where the paper keeps pilots in a buffer for up to 4 steps and needs their old log-probabilities.
    The paper splits 128 rollouts into 32 and 96, or 64 into 16 and 48; the defaults keep the ratio at 8 and 24, where
    0.125 is one success. Optionally the paper trains on fewer pilots, chosen for variance: that is the selection
    `winnow.selection.pilots.Pilots`.

    Known bias: the pilot decides and trains. With the defaults, leave-one-out advantages and prompts turned away
    counted as 0, the expected gradient is 0.241 at p = 0.5 (true: 0.25) and 0.060 at p = 0.1 (true: 0.09); given that
    a prompt trains it is 0.250 and 0.106 (enumerated in the tests).

    Attributes:
        initial: rollouts of the pilot.
        further: rollouts of the commit.
        pool: prompts at hand per group wanted.
        low: lowest success rate that passes.
        high: highest success rate that passes.
        choose: of more than enough that pass, the ``"first"`` as offered or those of largest ``"variance"``, ties as
            offered. The paper's buffer has the second and a random draw; prompts come in random order here, so the
            first are one.
        barrier: pilot everything before committing.

    Raises:
        ConfigError: if a setting is out of range.
    """

    initial: int = 8
    further: int = 24
    pool: int = 3
    low: float = 0.125
    high: float = 0.75
    choose: str = "first"
    barrier: bool = True

    def __post_init__(self) -> None:
        check_phases("PilotCommit", self)
        check_band("PilotCommit", self.low, self.high)
        if self.choose not in ("first", "variance"):
            raise unknown("choose", self.choose, ("first", "variance"))

    @property
    def n(self) -> int:
        """Rollouts of a group that trains."""
        return self.initial + self.further

    @property
    def largest(self) -> int:
        """A committed prompt gets both phases."""
        return self.n

    def with_n(self, n: int) -> PilotCommit:
        """Return the rule with groups of n, the pilot as it is.

        Raises:
            ConfigError: if n leaves nothing to commit.
        """
        return replace(self, further=further_for("PilotCommit", n, self.initial))

    def passes(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return bool (P,): the mean outcome lies in the band."""
        return inside(seen.mean(), self.low, self.high)

    def preference(self, seen: Observed) -> FloatArray:
        """Return the variance (P,) of the pilots, or zeros."""
        return seen.variance() if self.choose == "variance" else np.zeros(len(seen))

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return Screening(self, len(prompts))


RULES["pilot_commit"] = PilotCommit
