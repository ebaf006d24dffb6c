"""Rows that pay: all of a group's rarer side, and of the other as many as add more than they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.effect import effect
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray, as_rewards, rank_within, scorable
from winnow.observed import SUCCESS
from winnow.selection.base import PARTS, Selection

ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Pairs:
    """Keep the rarer side of every group, right or wrong, and a random part of the other (ours).

    A group with s rollouts on its rarer side and c kept of the other teaches ``f I / (I + noise)``,
    ``I = s c / (s + c)``, f being the failure rate expected of its prompt (`winnow.effect`). The step keeps
    the rows that make ``sum of effects / (rollouts + price * rows)`` largest: a group's next row stays while what it
    adds exceeds price times that quotient (Dinkelbach), and a group whose first pair does not pay for its rows loses
    both sides. Groups without contrast keep all their rows, which cost nothing: they are of advantage 0.

    Which rows of the larger side stay is drawn by the seed of the step. Unscorable rollouts are never kept. Weights are
    1: `winnow.advantage.contrast.Contrast` averages over what is kept, so the choice changes the noise of the update
    and the weight of the prompt, not the direction.

    Columns: ``outcomes``, right above `SUCCESS`; ``expected``, the pass rate expected of the prompt, NaN where nothing
    is (then it is the group's own).

    Attributes:
        price: cost of a trained row in rollouts; 0 keeps everything.
        noise: noise within a prompt over noise between prompts, above 0.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(N log N + G largest group).
    """

    price: float = 1.0
    noise: float = 0.67
    needs = ("outcomes", "expected")

    def __post_init__(self) -> None:
        if not 0 <= self.price < math.inf:
            raise ConfigError(f"Pairs(price={self.price!r}): use a finite number >= 0, as 1")
        if not 0 < self.noise < math.inf:
            raise ConfigError(f"Pairs(noise={self.noise!r}): use a finite number above 0, as 0.67")

    @property
    def name(self) -> str:
        """``pairs``."""
        return "pairs"

    @property
    def m(self) -> float:
        """The largest share of a group that can stay: all of it."""
        return 1.0

    def __call__(
        self,
        rewards: npt.ArrayLike,
        groups: npt.ArrayLike,
        rng: np.random.Generator,
        *,
        outcomes: npt.ArrayLike,
        expected: npt.ArrayLike,
    ) -> Selection:
        """Return the kept rows."""
        values = as_rewards(rewards)
        found = scorable(values)
        rows = np.arange(len(values)) if found is None else found
        if not len(rows):
            return Selection(rows, np.ones(0))
        right = as_rewards(outcomes)[rows] > SUCCESS
        _, first, group = np.unique(np.asarray(groups)[rows], return_index=True, return_inverse=True)
        size, n_right = np.bincount(group), np.bincount(group, weights=right).astype(np.int64)
        told = np.asarray(expected, np.float64)[rows][first]
        failing = 1 - np.where(np.isnan(told), n_right / size, told)
        rarer = np.minimum(n_right, size - n_right)
        other = self.counts(rarer, size - rarer, failing, int(size.sum()))
        alone = rarer == 0
        on_rarer = right == (n_right <= size - n_right)[group]
        quota = np.where(
            alone[group], size[group], np.where(on_rarer, np.where(other > 0, rarer, 0)[group], other[group])
        )
        shuffled = rng.permutation(len(rows))
        rank = np.empty(len(rows), np.int64)
        rank[shuffled] = rank_within(group[shuffled], on_rarer[shuffled] & ~alone[group[shuffled]])
        kept = np.sort(rows[rank < quota])
        return Selection(kept, np.ones(len(kept)))

    def counts(self, rarer: IntArray, other: IntArray, failing: FloatArray, rollouts: int) -> IntArray:
        """Return int64 (G,), how many rows of the larger side stay; 0 also drops the rarer side.

        Args:
            rarer: (G,) rows of the smaller side.
            other: (G,) rows of the larger side.
            failing: (G,) failure rate of the prompt.
            rollouts: generated in the step.
        """
        kept = np.where(rarer > 0, other, 0)
        if self.price == 0 or not kept.any():
            return kept
        count = np.arange(kept.max() + 1)[:, None]
        teaches = effect(rarer, count, failing, self.noise)
        cost = np.where(count > 0, rarer + count, 0)
        possible = count <= kept
        for _ in range(ROUNDS):
            at = kept[None, :]
            rate = np.take_along_axis(teaches, at, 0).sum() / (
                rollouts + self.price * np.take_along_axis(cost, at, 0).sum()
            )
            # Effects are concave in the count, so that the best count is where the gain over its price is largest.
            net = np.where(possible, teaches - rate * self.price * cost, -np.inf)
            best = net.argmax(0)
            if np.array_equal(best, kept):
                break
            kept = best
        return kept


PARTS["pairs"] = Pairs
