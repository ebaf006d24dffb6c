"""SPEED-RL: a few rollouts tell which prompts have signal; only those get the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage import Advantage
from winnow.allocation.base import RULES, Allocator
from winnow.allocation.screening import Screening, check_phases, further_for
from winnow.candidates import Candidates
from winnow.gating.continued import Continued
from winnow.groups import FloatArray
from winnow.observed import Observed


@dataclass(frozen=True, slots=True)
class Speed:
    """Screen with ``initial`` rollouts; prompts whose outcomes differ, 0 < p < 1, get ``further`` more (2506.09016).

    The group that trains is both phases together. `Screening` says how candidates, budget and prompts that are not
    needed are dealt with, and what is ours: both phases belong to one step and one policy. Pair it with the gate
    `winnow.gating.continued.Continued`, as the recipe ``speed`` does, so that screened prompts do not train by
    themselves; a key that both have (``initial``) changes both.

    Cost per group that trains: ``pool * initial + further`` rollouts. A prompt with success rate p is turned away with
    probability ``p^initial + (1-p)^initial``. The authors' code asks ``further`` to be a multiple of ``initial`` and
    tells the phases apart by their sizes; neither is needed here.

    Known bias: the first ``initial`` rollouts of a group that trains are known to differ, so their mean leans towards
    1/2 and the prompts that train towards p = 1/2. With 4 and 12, leave-one-out advantages and prompts turned away
    counted as 0, the expected gradient is 0.220 at p = 0.5 (true: 0.25) and 0.044 at p = 0.1 (true: 0.09); given that
    a prompt trains it is 0.252 and 0.129 (enumerated in the tests).

    Attributes:
        initial: rollouts of the screening.
        further: rollouts of the continuation.
        pool: prompts at hand per group wanted; hosts draw ``pool`` times their prompts of a step.
        barrier: screen everything before continuing; False continues prompts as soon as they pass, so which ones do
            depends on the order of arrival.

    Raises:
        ConfigError: if a setting is out of range.
    """

    initial: int = 4
    further: int = 12
    pool: int = 4
    barrier: bool = True

    def __post_init__(self) -> None:
        check_phases("Speed", self)

    @property
    def n(self) -> int:
        """Rollouts of a group that trains."""
        return self.initial + self.further

    @property
    def largest(self) -> int:
        """A continued prompt gets both phases."""
        return self.n

    def with_n(self, n: int) -> Speed:
        """Return the rule with groups of n, the screening as it is.

        Raises:
            ConfigError: if n leaves nothing to continue with.
        """
        return replace(self, further=further_for("Speed", n, self.initial))

    def passes(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return bool (P,): outcomes differ."""
        return seen.signal()

    def preference(self, seen: Observed) -> FloatArray:
        """Return zeros (P,): as offered."""
        return np.zeros(len(seen))

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return Screening(self, len(prompts))


RULES["speed"] = Speed
declare(
    "speed",
    About(
        paper="SPEED-RL, arXiv 2506.09016",
        idea="4 rollouts of 4 times the prompts; the first whose outcomes differ get 12 more, and train",
        saves="steps: every group that trains is large and has signal",
        costs="4 rollouts on each prompt that is turned away; two waves per step",
        bias="prompts train because their screening was mixed, and train on it: baselines lean towards 1/2",
        status="decision",
    ),
    lambda: {"allocation": Speed(), "gate": Continued(Speed().initial), "advantage": Advantage("rloo")},
)
