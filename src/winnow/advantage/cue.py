"""Cue-GRPO: among right rollouts, more credit for the rarer ways to be right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.answers import answer_codes, cluster_sizes
from winnow.advantage.base import PARTS
from winnow.advantage.grpo import grpo
from winnow.errors import ConfigError
from winnow.groups import FloatArray
from winnow.observed import SUCCESS


@dataclass(frozen=True, slots=True)
class Cue:
    """GRPO, then ``A <- m A`` for the N right rollouts of a group (Cue-GRPO, arXiv 2608.03467).

    ``m_i = N |C_i|^-alpha / sum over right j of |C_j|^-alpha``, with C_i the cluster of rollout i among the right
    ones: the sum of m is N, so credit moves from common to rare solutions and none is made. Then m is clipped to
    [``least``, ``most``] and, with ``match``, rescaled to mean 1 again, after which it may pass the clip.

    Clusters are equal texts in column ``answers``. **Where right answers all have one normal form, as in mathematics,
    they are one cluster and this is GRPO**: tell as ``answers`` a label of the approach instead. The source's labels
    come from 27 patterns found in the text of a solution (patterns in 75 % or more of the group dropped, cosine above
    0.5, connected components), which are not built here; nor is its floor of 1.05, whose form is not known.

    Right is an outcome above 0.5; with graded rewards only rollouts above their group's mean count (ours). Wrong ones
    keep their advantage. A single right rollout has m = 1.

    Attributes:
        alpha: 0 is GRPO, 1 gives every cluster the same credit.
        least, most: bounds of m, 0 <= least <= 1 <= most.
        match: rescale after the clip.
        ddof, eps: as in `winnow.advantage.grpo`.

    Groups without signal get 0; unscorable rows get 0 and are in no statistic. Raises `ConfigError` if a setting is out
    of range. Complexity: O(N log N).
    """

    alpha: float = 0.8
    least: float = 0.3
    most: float = 3.0
    match: bool = True
    ddof: int = 1
    eps: float = 1e-4
    needs = ("answers", "outcomes")

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"Cue(alpha={self.alpha!r}): use a number in [0, 1]")
        if not 0 <= self.least <= 1 <= self.most:
            raise ConfigError(f"Cue(least={self.least!r}, most={self.most!r}): use 0 <= least <= 1 <= most")
        if self.ddof not in (0, 1) or not 0 <= self.eps < np.inf:
            raise ConfigError(f"Cue(ddof={self.ddof!r}, eps={self.eps!r}): use 0 or 1, and a number >= 0")

    @property
    def name(self) -> str:
        """``cue``."""
        return "cue"

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, answers: npt.ArrayLike, outcomes: npt.ArrayLike
    ) -> FloatArray:
        """Return float64 (N,); ``answers`` (N,) labels of clusters, ``outcomes`` (N,)."""
        advantages = grpo(rewards, groups, ddof=self.ddof, eps=self.eps)
        right = np.flatnonzero((np.asarray(outcomes, np.float64) > SUCCESS) & (advantages > 0))
        if len(right):
            advantages[right] *= self._multipliers(answer_codes(answers)[right], np.asarray(groups)[right])
        return advantages

    def _multipliers(self, codes: npt.NDArray[np.int64], labels: npt.NDArray[np.generic]) -> FloatArray:
        group = np.unique(labels, return_inverse=True)[1]
        count = np.bincount(group)
        raw = cluster_sizes(codes, group) ** -self.alpha
        clipped = np.clip(raw * (count / np.bincount(group, raw))[group], self.least, self.most)
        return clipped * (count / np.bincount(group, clipped))[group] if self.match else clipped


PARTS["cue"] = Cue
declare(
    "cue-grpo",
    About(
        paper="Cue-GRPO, arXiv 2608.03467; the partition is yours to tell",
        idea="right rollouts share their credit by cluster, so that rare solutions count more",
        saves="nothing; keeps diversity, so pass@k for large k",
        costs="a label of the approach for every rollout",
        bias="towards rare ways to be right",
        status="decision",
    ),
    lambda: {"advantage": Cue()},
)
