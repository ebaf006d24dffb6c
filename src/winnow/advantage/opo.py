"""OPO: a baseline in which long rollouts count more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import Advantage, Centred, register
from winnow.columns import needs
from winnow.groups import FloatArray
from winnow.objective.config import Objective


@register
@needs("lengths")
def opo(rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, lengths: npt.ArrayLike) -> FloatArray:
    """Return ``r - sum(l r) / sum(l)`` inside each group, l the length in tokens (OPO, arXiv 2505.23585).

    The baseline of least variance where the squared gradient of a rollout is proportional to its length. Advantages
    weighted by length sum to 0, plain ones need not. A group whose lengths are all 0 (no tokens told) takes the plain
    mean (ours).

    Arguments, zeros, NaN rule and warning are those of `grpo`.

    Args:
        rewards: (N,).
        groups: (N,).
        lengths: (N,) tokens of each rollout, >= 0.

    Complexity: O(N), plus a stable sort when rows do not lie group by group.
    """
    centred = Centred.of(rewards, groups)
    tokens = centred.groups.gather(np.asarray(lengths, np.float64))
    total = centred.per_group(tokens)
    shift = centred.per_group(tokens * centred.deviation) / np.where(total > 0, total, 1.0)
    varied = centred.groups.spread(centred.largest() > 0) > 0
    return centred.rows(np.where(varied, centred.deviation - centred.groups.spread(shift), 0.0))


declare(
    "opo",
    About(
        paper="OPO, arXiv 2505.23585",
        idea="rewards minus a mean of the group that is weighted by length",
        saves="nothing; lower variance of the update",
        costs="as Dr.GRPO",
        bias="each rollout is part of its own baseline, by its share of the group's tokens",
    ),
    lambda: {"advantage": Advantage("opo"), "objective": Objective(aggregation="constant")},
)
