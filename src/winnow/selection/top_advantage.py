"""The largest advantages, or those that vary most, of a group or of the whole step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.errors import unknown
from winnow.groups import FloatArray
from winnow.selection.base import PARTS, Selection, check_m
from winnow.selection.max_reward import max_reward
from winnow.selection.max_variance import max_variance


@dataclass(frozen=True, slots=True)
class TopAdvantage:
    """Keep the m rollouts with the largest |A|, or the m whose advantages vary most.

    ``rank="size"`` is top-k by |A| (a baseline of several papers; `winnow.selection.Cppo` by a number of rows). |A| is
    compared to 12 digits, and ties, as between half right and half wrong, fall at random by the seed of the step.
    ``rank="variance"`` is the sample level of D3S (arXiv 2509.22115), maximal variance of advantages, found as in
    `winnow.selection.max_variance`. With ``scope="batch"`` the whole step is one set, of which m rows per group, or the
    share m, are kept; then prompts with few successes or few failures crowd out the others.

    Advantages are over whole groups and not normalised again (``stats="full"``).

    Attributes:
        m: rows kept per group: a number, or a fraction as a float.
        rank: see above.
        scope: where rows compete.

    Unscorable rows never come here. Raises `ConfigError` if a setting is out of range. Complexity: O(N log N); O(N m)
    memory operations for ``variance``.
    """

    m: int | float = 8
    rank: Literal["size", "variance"] = "size"
    scope: Literal["group", "batch"] = "group"
    needs = ("advantages",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", check_m(self.m))
        if self.rank not in ("size", "variance"):
            raise unknown("rank", self.rank, ("size", "variance"))
        if self.scope not in ("group", "batch"):
            raise unknown("scope", self.scope, ("group", "batch"))

    @property
    def name(self) -> str:
        """``top_advantage``."""
        return "top_advantage"

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, *, advantages: FloatArray
    ) -> Selection:
        """Return the kept rows; ``advantages`` (N,) are over the whole groups."""
        m, labels = self.m, None if self.scope == "batch" else groups
        if self.scope == "batch" and isinstance(m, int):
            m *= max(1, len(np.unique(groups)))
        if self.rank == "variance":
            return max_variance(advantages, m, labels)
        return max_reward(np.round(np.abs(advantages), 12), m, labels, seed=rng)


PARTS["top_advantage"] = TopAdvantage
declare(
    "top-advantage",
    About(
        paper="ours in this form; top-k by |advantage| is a baseline of several papers",
        idea="generate 16, train on the 8 of the largest |advantage|, ties at random",
        saves="updates: m of n rows",
        costs="the rarer outcome crowds out the other one",
        bias="advantages of the kept rows no longer sum to 0",
    ),
    lambda: {"n": 16, "selection": TopAdvantage(), "stats": "full"},
)
declare(
    "d3s",
    About(
        paper="D3S, arXiv 2509.22115: its sample level; the schedule and the choice of tokens are not built",
        idea="generate 16 for each prompt, train on the half of the step whose advantages vary most",
        saves="updates: m of n rows",
        costs="prompts near a pass rate of one half train least",
        bias="the kept rows are chosen by outcome: the update leans towards contrast",
        status="experimental",
    ),
    lambda: {
        "n": 16,
        "selection": TopAdvantage(rank="variance", scope="batch"),
        "stats": "full",
    },
)
