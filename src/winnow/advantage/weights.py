"""The weight of one group against another in a batch of unequal groups."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.errors import unknown
from winnow.groups import FloatArray, Groups

WeightRule = Literal["rollout", "prompt", "sqrt"]
_POWER = {"rollout": 0.0, "sqrt": -0.5, "prompt": -1.0}
WEIGHT_RULES = tuple(_POWER)


def group_weights(groups: npt.ArrayLike, rule: WeightRule) -> FloatArray:
    """Return one multiplier per row, with mean 1 over the batch.

    Args:
        groups: (N,) integer labels in any order.
        rule: ``"rollout"``: every rollout counts the same, so a prompt's weight grows with n;
            ``"prompt"``: proportional to 1/n, so every prompt counts the same;
            ``"sqrt"``: proportional to 1/sqrt(n), a compromise of ours.

    Returns:
        float64 (N,).

    Raises:
        ConfigError: if the rule is unknown.

    Complexity: O(N), plus a stable sort when rows do not lie group by group.
    """
    if rule not in _POWER:
        raise unknown("group weight", rule, _POWER)
    size = len(np.asarray(groups))
    members = Groups.of(groups, size)
    raw = members.scatter(members.spread(members.sizes.astype(np.float64) ** _POWER[rule]), size)
    return raw * (size / raw.sum()) if size else raw
