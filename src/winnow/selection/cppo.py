"""CPPO: keep the rollouts of largest absolute advantage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray, rank_within
from winnow.selection.base import PARTS, Selection


@dataclass(frozen=True, slots=True)
class Cppo:
    """Keep the ``floor(n (1 - pruning))`` largest |advantage| of each group (CPPO, arXiv 2503.22342, eq. 8-10).

    At least one row of a group is kept. Advantages come from the whole group and are not normalised again
    (``stats="full"``), so those kept need not sum to 0. ``scope="batch"`` ranks all rows of the step together, as the
    authors' code does with the rows of a device: it can empty one group while it keeps all of another.
    Left out: the paper fills the batch up with 1 / (1 - pruning) times the prompts; give the step more prompts instead.

    Ties in |advantage|. Half right and half wrong ties every row, and keeping the first rows would keep one side only;
    ``ties="sign"`` (ours) takes them from both signs in turn, positive first, and by position within a sign.
    ``"index"`` goes by position, as the code does.

    Unscorable rows never come here. A group without signal keeps its first rows; they teach nothing.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(N log N).
    """

    pruning: float = 0.5
    scope: Literal["group", "batch"] = "group"
    ties: Literal["sign", "index"] = "sign"
    needs = ("advantages",)

    def __post_init__(self) -> None:
        if not 0 <= self.pruning < 1:
            raise ConfigError(f"Cppo(pruning={self.pruning!r}): use a share in [0, 1), as 0.5")
        if self.scope not in ("group", "batch"):
            raise unknown("scope", self.scope, ("group", "batch"))
        if self.ties not in ("sign", "index"):
            raise unknown("ties", self.ties, ("sign", "index"))

    @property
    def name(self) -> str:
        """``cppo``."""
        return "cppo"

    @property
    def m(self) -> float:
        """The share of each group that is kept."""
        return 1.0 - self.pruning

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, *, advantages: FloatArray
    ) -> Selection:
        """Return the kept rows; ``advantages`` (N,) are over the whole groups."""
        size = np.round(np.abs(advantages), 12)
        group = np.zeros(len(size), np.int64) if self.scope == "batch" else np.asarray(groups)
        negative = advantages < 0
        turn = rank_within(negative, size, group) if self.ties == "sign" else rank_within(size, group)
        order = np.lexsort((negative, turn, -size, group)) if self.ties == "sign" else np.lexsort((turn, -size, group))
        place = rank_within(group[order])
        total = np.unique(group, return_inverse=True, return_counts=True)
        quota = np.maximum(1, np.floor(total[2] * self.m + 1e-9))[total[1]]
        chosen = np.sort(order[place < quota[order]])
        return Selection(chosen, np.ones(len(chosen)))


PARTS["cppo"] = Cppo
declare(
    "cppo",
    About(
        paper="CPPO, arXiv 2503.22342",
        idea="train on the half of each group with the largest |advantage| over the whole group",
        saves="updates: a share `pruning` of the rows; nothing is saved in generation",
        costs="the rarer outcome crowds out the other one",
        bias="advantages of the kept rows no longer sum to 0",
    ),
    lambda: {"selection": Cppo(), "stats": "full"},
)
