"""NSR and W-REINFORCE: learn from what is wrong, and a little from what is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import PARTS
from winnow.advantage.ranges import check_range
from winnow.errors import ConfigError
from winnow.groups import FloatArray, as_rewards


@dataclass(frozen=True, slots=True)
class Nsr:
    """``positive * r + (r - 1)`` for rewards in [0, 1], without group or baseline (arXiv 2506.01347).

    ``positive=0`` is NSR (right answers get 0, wrong ones -1), 0.1 the paper's W-REINFORCE. An all-wrong group trains
    with -1, an all-right one with ``positive``: here groups of equal rewards are not without signal.

    Unscorable rows get 0. Known risk: constant negative advantages on hopeless prompts; watch the entropy.

    Raises:
        ConfigError: if ``positive`` is not in [0, 1].

    Complexity: O(N).
    """

    positive: float = 0.0
    own_signal = True

    def __post_init__(self) -> None:
        if not 0 <= self.positive <= 1:
            raise ConfigError(f"Nsr(positive={self.positive!r}): use a weight in [0, 1], as 0.1")

    @property
    def name(self) -> str:
        """``nsr``, or ``w_reinforce`` with a positive part."""
        return "w_reinforce" if self.positive else "nsr"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,).

        Raises:
            ConfigError: if a finite reward lies outside [0, 1].
        """
        self.check_told(rewards)
        values = as_rewards(rewards).astype(np.float64)
        return np.where(np.isfinite(values), self.positive * values + (values - 1.0), 0.0)

    def check_told(self, rewards: npt.ArrayLike) -> None:
        """Refuse a finite reward outside [0, 1]."""
        check_range(rewards, self.name, most=1.0)


PARTS["nsr"] = Nsr
PARTS["w_reinforce"] = lambda: Nsr(0.1)
for _name, _positive in (("nsr", 0.0), ("w-reinforce", 0.1)):
    declare(
        _name,
        About(
            paper="The surprising effectiveness of negative reinforcement, arXiv 2506.01347",
            idea=f"push down wrong answers; right ones count {_positive:g}",
            saves="nothing; keeps diversity, so pass@k for large k",
            costs="learns slowly to be right at once",
            bias="no baseline: the variance is that of plain REINFORCE",
        ),
        lambda positive=_positive: {"advantage": Nsr(positive)},  # type: ignore[misc]
    )
