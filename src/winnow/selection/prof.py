"""PROF: drop rollouts whose steps and outcome disagree, more of them from the larger side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.scores import as_scores
from winnow.errors import unknown
from winnow.groups import IntArray, rank_within
from winnow.observed import SUCCESS
from winnow.selection.base import PARTS, Selection, check_m


@dataclass(frozen=True, slots=True)
class Prof:
    """Keep m rollouts of each group whose step scores fit their outcome (PROF, arXiv 2509.03403).

    Right is an outcome above 0.5. Consistency is ``2 s - 1`` for right and its negative for wrong rollouts, s the mean
    score of the steps. Of n rollouts k = n - m go: ``clip(round((right - wrong + k) / 2), 0, k)`` right ones and the
    rest wrong ones, on each side those of the lowest consistency; halves round to even, as in the authors' code. So the
    larger side shrinks first. All right or all wrong stays so, without signal.

    Column ``scores``: the mean step score s of a rollout by a process reward model, in [0, 1]; for a model that judges
    in [-1, 1] set ``signed``, so that s itself is the consistency of right rollouts. The authors also subtract a fixed
    amount from consistency for fewer than 2 or more than 30 steps; steps are not known here, so a host that wants this
    lowers the score of right rollouts and raises that of wrong ones by half the amount.
    A NaN score goes first. Equal consistencies: the highest position goes first.

    Attributes:
        m: rows kept per group: a number, or a fraction of the group as a float; the paper keeps 4 of 8.
        sides: ``"both"``, or ``"right"``: wrong rollouts go at random (better for weak models in the paper).
        signed: scores are in [-1, 1].

    Unscorable rows never come here. Raises `ConfigError` if a setting is out of range, or no rollout has a
    score. Complexity: O(N log N).
    """

    m: int | float = 8
    sides: Literal["both", "right"] = "both"
    signed: bool = False
    needs = ("scores", "outcomes")

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", check_m(self.m))
        if self.sides not in ("both", "right"):
            raise unknown("sides", self.sides, ("both", "right"))

    @property
    def name(self) -> str:
        """``prof``."""
        return "prof"

    def __call__(
        self,
        rewards: npt.ArrayLike,
        groups: npt.ArrayLike,
        rng: np.random.Generator,
        *,
        scores: npt.ArrayLike,
        outcomes: npt.ArrayLike,
    ) -> Selection:
        """Return the kept rows; ``scores`` (N,) and ``outcomes`` (N,)."""
        right = np.asarray(outcomes, np.float64) > SUCCESS
        judged = as_scores(scores, rewards, self.name)
        fit = (judged if self.signed else 2 * judged - 1) * np.where(right, 1.0, -1.0)
        if self.sides == "right":
            fit = np.where(right, fit, rng.random(len(fit)))
        fit = np.where(np.isfinite(fit), fit, -np.inf)
        group = np.unique(np.asarray(groups), return_inverse=True)[1]
        drop = self._drops(np.bincount(group, right), np.bincount(group, ~right))
        order = np.lexsort((-np.arange(len(fit)), fit, right, group))
        place = np.empty(len(fit), np.int64)
        place[order] = rank_within(right[order], group[order])
        rows = np.flatnonzero(place >= np.where(right, drop[0][group], drop[1][group]))
        return Selection(rows, np.ones(len(rows)))

    def _drops(self, right: npt.NDArray[np.number], wrong: npt.NDArray[np.number]) -> tuple[IntArray, IntArray]:
        size = right + wrong
        share = isinstance(self.m, float)
        keep = np.maximum(1, np.floor(self.m * size + 1e-9)) if share else np.minimum(self.m, size)
        gone = size - keep
        of_right = np.clip(np.rint((right - wrong + gone) / 2), 0, gone)
        return of_right.astype(np.int64), (gone - of_right).astype(np.int64)


PARTS["prof"] = Prof
declare(
    "prof",
    About(
        paper="PROF, arXiv 2509.03403",
        idea="generate 16, train on the 8 whose step scores and outcome agree best, right and wrong balanced",
        saves="updates: m of n rows",
        costs="a process reward model that scores every rollout",
        bias="the kept rows are chosen by outcome and score",
    ),
    lambda: {"n": 16, "selection": Prof()},
)
