"""GFPO: train on the short rollouts of each group, or on those with the most reward per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.errors import unknown
from winnow.groups import as_rewards
from winnow.selection.base import PARTS, Selection, check_m
from winnow.selection.max_reward import max_reward


@dataclass(frozen=True, slots=True)
class Gfpo:
    """Keep the m shortest rollouts of every group, or the m with the largest reward per token (GFPO, arXiv 2508.09726).

    Statistics are those of the kept set (``stats="kept"``). Equal scores fall to the lowest position. A rollout of no
    tokens counts as one of a single token; where the step is told no tokens at all, ``"length"`` keeps the first m
    and ``"efficiency"`` the m best. Reward per token favours length where rewards are negative: use rewards >= 0.
    Unscorable rows never come here.

    The source also moves m with the difficulty of a prompt (by quartile, sizes not given): not built.

    Attributes:
        m: rows kept per group: a number, or a fraction of the group as a float.
        rank: ``"length"`` or ``"efficiency"`` (reward per token).

    Raises `ConfigError` if a setting is out of range. Complexity: O(N log n).
    """

    m: int | float = 8
    rank: Literal["length", "efficiency"] = "length"
    needs = ("lengths",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", check_m(self.m))
        if self.rank not in ("length", "efficiency"):
            raise unknown("rank", self.rank, ("length", "efficiency"))

    @property
    def name(self) -> str:
        """``gfpo``."""
        return "gfpo"

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, *, lengths: npt.ArrayLike
    ) -> Selection:
        """Return the kept rows; ``lengths`` (N,) in tokens."""
        tokens = np.maximum(np.asarray(lengths, np.float64), 1.0)
        score = as_rewards(rewards) / tokens if self.rank == "efficiency" else -tokens
        return max_reward(score, self.m, groups)


PARTS["gfpo"] = Gfpo
declare(
    "gfpo",
    About(
        paper="GFPO, arXiv 2508.09726 (without its adaptive difficulty)",
        idea="generate 16, train on the 8 shortest (or, rank=efficiency, on the most reward per token)",
        saves="updates, and tokens at inference: rollouts grow less",
        costs="generates twice the rollouts it trains on",
        bias="which rows train depends on length: towards short rollouts, right or wrong",
    ),
    lambda: {"n": 16, "selection": Gfpo()},
)
