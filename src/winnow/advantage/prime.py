"""PRIME, as far as one number per rollout goes: leave-one-out of the outcome plus that of the process reward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import PARTS
from winnow.advantage.rloo import rloo
from winnow.advantage.scores import as_scores
from winnow.errors import ConfigError
from winnow.gating.band import Band
from winnow.groups import FloatArray, as_rewards


@dataclass(frozen=True, slots=True)
class Prime:
    """``RLOO(r) + process_weight * RLOO(s)``, divided by its root mean square over the step (after PRIME, 2502.01456).

    Column ``scores``: s is the mean over a rollout's tokens of the implicit process reward ``beta (log pi_phi - log
    pi_ref)``. RLOO of these means is the mean over tokens of the source's token advantage before its cumulative sum.

    What is missing, because an advantage is one number per rollout here: the sum over later tokens, the scaling by the
    largest such sum, and the token as the unit of whitening; and the training of the process reward model itself.

    Both parts have mean 0 in each group, so whitening needs no mean and leaves groups without signal at exactly 0. A
    group that is all right has signal where its scores differ. Rows whose reward or score is not finite get 0 and are
    in no statistic. Complexity: that of `rloo`.

    Attributes:
        process_weight: of the process part, >= 0 (1 in the source).
        whiten: divide by the root mean square over the rollouts that count.

    Raises `ConfigError` if a setting is out of range, or no rollout has a score.
    """

    process_weight: float = 1.0
    whiten: bool = True
    needs = ("scores",)
    own_signal = True

    def __post_init__(self) -> None:
        if not 0 <= self.process_weight < np.inf:
            raise ConfigError(f"Prime(process_weight={self.process_weight!r}): use a finite number >= 0")

    @property
    def name(self) -> str:
        """``prime``."""
        return "prime"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, scores: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); ``scores`` (N,)."""
        values, judged = as_rewards(rewards).astype(np.float64), as_scores(scores, rewards, self.name)
        finite = np.isfinite(values) & np.isfinite(judged)
        outcome = rloo(np.where(finite, values, np.nan), groups)
        process = rloo(np.where(finite, judged, np.nan), groups)
        total = outcome + self.process_weight * process
        largest = float(np.abs(total).max(initial=0.0))
        if not self.whiten or largest == 0:
            return total
        unit: FloatArray = total / largest
        return unit / float(np.sqrt(np.mean(unit[finite] ** 2)))


PARTS["prime"] = Prime
declare(
    "prime",
    About(
        paper="after PRIME, arXiv 2502.01456; its process reward model is yours to bring",
        idea="leave-one-out advantages of outcome and process reward, in groups of middling accuracy",
        saves="updates on groups that are nearly all right or all wrong",
        costs="a process reward model, trained beside the policy",
        bias="which groups train depends on their rewards",
        status="experimental",
    ),
    lambda: {"advantage": Prime(), "gate": Band(0.2, 0.8)},
)
