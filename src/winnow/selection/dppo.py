"""DPPO, rollout level: thin out rollouts of small advantage at random, and pay the kept ones for those that went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray, Groups, rank_within
from winnow.selection.base import PARTS, Selection

# A mean of equal numbers may lie a rounding above them; what is less than this share below the mean is not below it.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Dppo:
    """Keep all rollouts with |A| at or above the mean |A|, and a random part of the others (DPPO, arXiv 2603.04135).

    ``draw="fixed"`` keeps exactly ``round(L (1 - prune_rollouts))``, at least 1, of the L low rollouts of a group,
    chosen uniformly, each with weight L / kept. ``draw="independent"`` keeps each with probability
    ``1 - prune_rollouts`` and weight ``1 / (1 - prune_rollouts)``: the same expectation, more variance, and a random
    number of rows. Others have weight 1.

    Unbiased: for any prune_rollouts < 1 the sum of weight times gradient over the kept rows has the sum over all rows
    as its expectation, given advantages over the whole group (``stats="full"``), a loss divided by all rows or
    tokens (``Objective(denominator="full")``) and ``weight="rollout"``; the recipe `dppo` sets all three. This speaks
    of the policy gradient; clipping the ratio bends it as it bends GRPO's, and a KL term may count fewer rows.

    The listing in the paper removes a fixed share of the smallest |A|, which no weight can make unbiased; random
    thinning, the fixed size and the mean over each group (``scope="batch"``: over the step) are ours. With all |A|
    equal, as half right and half wrong, or in a group without signal, nothing is below the mean and nothing is removed.

    Attributes:
        prune_rollouts: share of the low rollouts to remove, in [0, 1); 0 switches this level off. Up to 0.7 in the
            paper; the variance grows like 1 / (1 - prune_rollouts).
        draw: see above.
        scope: what "the mean |A|" and, for ``fixed``, L are taken over.

    Unscorable rows never come here. Raises `ConfigError` if a setting is out of range. Complexity: O(N log N).
    """

    prune_rollouts: float = 0.5
    draw: Literal["fixed", "independent"] = "fixed"
    scope: Literal["group", "batch"] = "group"
    needs = ("advantages",)

    def __post_init__(self) -> None:
        if not 0 <= self.prune_rollouts < 1:
            raise ConfigError(f"Dppo(prune_rollouts={self.prune_rollouts!r}): use a share in [0, 1), as 0.5")
        if self.draw not in ("fixed", "independent"):
            raise unknown("draw", self.draw, ("fixed", "independent"))
        if self.scope not in ("group", "batch"):
            raise unknown("scope", self.scope, ("group", "batch"))

    @property
    def name(self) -> str:
        """``dppo``."""
        return "dppo"

    @property
    def m(self) -> float:
        """The largest share of a group that can stay: all of it, as where no |A| lies below the mean."""
        return 1.0

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, *, advantages: FloatArray
    ) -> Selection:
        """Return the kept rows and their weights; ``advantages`` (N,) are over the whole groups."""
        size = len(advantages)
        low = low_rows(np.abs(advantages), None if self.scope == "batch" else groups)
        if self.draw == "independent":
            kept = ~low | (rng.random(size) >= self.prune_rollouts)
            weights = np.where(low, 1 / (1 - self.prune_rollouts), 1.0)
        else:
            labels = np.zeros(size, np.int64) if self.scope == "batch" else np.asarray(groups)
            kept, weights = thinned(low, labels, self.prune_rollouts, rng)
        rows = np.flatnonzero(kept)
        return Selection(rows, weights[rows])


def low_rows(scores: FloatArray, groups: npt.ArrayLike | None) -> npt.NDArray[np.bool_]:
    """Return bool (N,): the score (>= 0) is below the mean of its group; equal scores never are."""
    members = Groups.of(groups, len(scores))
    if not len(scores):
        return np.zeros(0, bool)
    grouped = members.gather(scores)
    mean = np.add.reduceat(grouped, members.starts) / members.sizes
    low = grouped < members.spread(mean) * (1 - ROUNDING)
    return members.scatter(low.astype(np.float64), len(scores)) > 0


def to_keep(low: npt.ArrayLike, pruning: float) -> npt.NDArray[np.int64]:
    """Return how many of ``low`` items stay: ``round(low (1 - pruning))``, at least 1 where there is one.

    Halves round up, so that no float error decides: 3 of 5 at 0.5.
    """
    count = np.asarray(low, np.int64)
    rounded = np.floor(count * (1 - pruning) + 0.5 + 1e-9).astype(np.int64)
    kept: npt.NDArray[np.int64] = np.minimum(count, np.maximum(1, rounded))
    return kept


def thinned(
    low: npt.NDArray[np.bool_], labels: npt.NDArray[np.generic], pruning: float, rng: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Choose uniformly, inside each label, a fixed number of the low items.

    Returns:
        bool (N,) what stays, and float64 (N,) weights: low / kept for the low items of a label, else 1.
    """
    kept, weights = ~low, np.ones(len(low))
    places = rng.permutation(np.flatnonzero(low))
    if len(places):
        _, which, counts = np.unique(labels[places], return_inverse=True, return_counts=True)
        quota = to_keep(counts, pruning)
        kept[places] = rank_within(which) < quota[which]
        weights[places] = (counts / quota)[which]
    return kept, weights


PARTS["dppo"] = Dppo
