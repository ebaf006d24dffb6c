"""Rows that pay: those whose part in what their group teaches is worth what it costs to train on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from winnow.advantage.contrast import Contrast
from winnow.effect import RIGHT, WRONG, Noise, Worth, worth
from winnow.errors import ConfigError
from winnow.groups import IntArray, as_rewards, rank_within, scorable
from winnow.selection.base import PARTS, Selection

if TYPE_CHECKING:
    from winnow.recipe import Recipe

ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Marginal:
    """Keep the rows that make effect per cost of the step largest (ours).

    The step keeps as many right and wrong rows of each group as make ``sum of effects / (rollouts + price * rows)``
    largest: a row stays while what it adds to the effect of its group (`winnow.effect.worth`) exceeds price times that
    quotient (Dinkelbach). Which rows of a side stay is drawn by the seed of the step.

    The advantage has to be computed over the whole group (``stats="full"``) and be `winnow.advantage.contrast.Contrast`
    with the same noise: kept rows weigh ``(1 + P) / (1 + P of the kept)``, so that their sum is the contrast of least
    noise of what is kept. As only outcomes decide, the choice changes the noise of the update and the weight of the
    prompt, not the direction.

    A row is right if it has the larger of the two rewards of its group. Groups with one reward keep all their rows,
    which cost nothing: they are of advantage 0. Groups with three rewards or more keep all theirs too. Unscorable
    rollouts are never kept, and not counted.

    Attributes:
        price: cost of a trained row in rollouts; 0 keeps everything.
        noise_right: see `winnow.effect.Noise`.
        noise_wrong: likewise.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(N log N).
    """

    price: float = 1.0
    noise_right: float = RIGHT
    noise_wrong: float = WRONG

    def __post_init__(self) -> None:
        if not 0 <= self.price < math.inf:
            raise ConfigError(f"Marginal(price={self.price!r}): use a finite number >= 0, as 1")
        Noise(self.noise_right, self.noise_wrong)

    def check_with(self, recipe: Recipe) -> None:
        """Refuse any other advantage than the contrast of the whole group with this noise."""
        found, ours = recipe.advantage, (self.noise_right, self.noise_wrong)
        if recipe.stats != "full":
            raise ConfigError(
                "selection marginal keeps single rows of a group, stats='kept' compares kept rows with each other: set "
                "stats='full'"
            )
        if not isinstance(found, Contrast) or (found.noise_right, found.noise_wrong) != ours:
            raise ConfigError(
                f"selection marginal weighs what it keeps for advantage contrast with noise_right={ours[0]:g} and "
                f"noise_wrong={ours[1]:g}, this recipe has {found!r}: set advantage='contrast' and the same noise for "
                "both, or another selection, as all_rows"
            )

    @property
    def name(self) -> str:
        """``marginal``."""
        return "marginal"

    @property
    def m(self) -> float:
        """The largest share of a group that can stay: all of it."""
        return 1.0

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator) -> Selection:
        """Return the kept rows and their weights."""
        values = as_rewards(rewards)
        found = scorable(values)
        rows = np.arange(len(values)) if found is None else found
        if not len(rows):
            return Selection(rows, np.ones(0))
        _, group = np.unique(np.asarray(groups)[rows], return_inverse=True)
        worst, best = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
        np.minimum.at(worst, group, values[rows])
        np.maximum.at(best, group, values[rows])
        passed = values[rows] == best[group]
        two = (best > worst) & (np.bincount(group, weights=~passed & (values[rows] != worst[group])) == 0)
        size, right = np.bincount(group), np.bincount(group, weights=passed).astype(np.int64)
        everything, kept = self.worth(np.where(two, right, 0), np.where(two, size - right, 0), int(size.sum()))
        quota = np.where(passed, kept.right[group], kept.wrong[group])
        shuffled = rng.permutation(len(rows))
        rank = np.empty(len(rows), np.int64)
        rank[shuffled] = rank_within(group[shuffled], passed[shuffled])
        stays = np.flatnonzero(~two[group] | (rank < quota))
        weights = (1 + everything.precision) / (1 + kept.precision)
        return Selection(rows[stays], weights[group[stays]])

    def worth(self, right: IntArray, wrong: IntArray, rollouts: int) -> tuple[Worth, Worth]:
        """Return what groups teach by all of their rows, and by the rows that pay.

        Args:
            right: (G,) right rollouts of each group.
            wrong: (G,) wrong ones.
            rollouts: scorable ones of the step.
        """
        noise = Noise(self.noise_right, self.noise_wrong)
        failing = wrong / np.maximum(right + wrong, 1)
        everything = kept = worth(right, wrong, failing, noise, 0.0)
        for _ in range(ROUNDS if self.price > 0 else 0):
            rate = kept.effect.sum() / (rollouts + self.price * kept.rows.sum())
            again = worth(right, wrong, failing, noise, float(rate * self.price))
            if np.array_equal(again.rows, kept.rows):
                break
            kept = again
        return everything, kept


PARTS["marginal"] = Marginal
