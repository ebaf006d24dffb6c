"""REINFORCE++ as recipes: rewards, or their distance to the group's mean, whitened over the whole step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import PARTS
from winnow.advantage.reinforce_pp import reinforce_pp
from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray


@dataclass(frozen=True, slots=True)
class Whitened:
    """`winnow.advantage.reinforce_pp` with its options (REINFORCE++, arXiv 2501.03262).

    Without ``baseline`` a group of equal rewards still trains: it stands above or below the rest of the step. With it,
    such groups get 0, unless statistics count tokens. The KL terms of the source (k1 in the reward of each token, k2
    as a loss with the baseline) are not here: `winnow.Objective` has ``kl_beta`` for k3, and
    `winnow.advantage.returns_to_go` is the return with k1.

    Attributes:
        baseline: subtract the group's mean first.
        statistics: ``"rollout"``: mean and deviation count every rollout once; ``"token"``: every token once, as
            OpenRLHF and verl do.
        ddof: 0 for the biased variance (OpenRLHF), 1 for the unbiased one (verl).

    Raises `ConfigError` if a setting is out of range, or ``"token"`` meets a step that was told no tokens.
    """

    baseline: bool = True
    statistics: Literal["rollout", "token"] = "rollout"
    ddof: int = 0
    needs = ("lengths",)

    def __post_init__(self) -> None:
        if self.statistics not in ("rollout", "token"):
            raise unknown("statistics", self.statistics, ("rollout", "token"))
        if self.ddof not in (0, 1):
            raise ConfigError(f"ddof={self.ddof!r}: use 1 (unbiased) or 0 (biased)")

    @property
    def name(self) -> str:
        """``whitened``."""
        return "whitened"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, lengths: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); ``lengths`` (N,) in tokens."""
        if self.statistics == "token" and np.size(lengths) and not np.any(lengths):
            raise ConfigError("statistics='token' needs tell(..., tokens=...), or statistics='rollout'")
        return reinforce_pp(
            rewards,
            groups,
            baseline=self.baseline,
            lengths=lengths,
            statistics=self.statistics,
            ddof=self.ddof,
        )


PARTS["whitened"] = Whitened
declare(
    "reinforce++",
    About(
        paper="REINFORCE++, arXiv 2501.03262 (without its KL term)",
        idea="rewards whitened over the whole step: no group, no baseline of the prompt",
        saves="nothing; works with few rollouts per prompt",
        costs="variance: easy and hard prompts share one baseline",
        bias="the common baseline and deviation contain the rollout itself, a share 1/N",
    ),
    lambda: {"advantage": Whitened(baseline=False)},
)
declare(
    "reinforce++-baseline",
    About(
        paper="REINFORCE++ with baseline, arXiv 2501.03262 (without its KL term)",
        idea="rewards minus the mean of the group, divided by the deviation over the whole step",
        saves="nothing; no division by the std of single groups",
        costs="as GRPO",
        bias="as Dr.GRPO, up to one factor per step",
    ),
    lambda: {"advantage": Whitened(baseline=True)},
)
