"""Every scorable rollout: what GRPO does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import Groups, as_rewards
from winnow.selection.base import Selection, register


@register
def all_rows(
    rewards: npt.ArrayLike,
    m: int | float = 1.0,
    groups: npt.ArrayLike | None = None,
    *,
    seed: int | np.random.Generator | None = None,
) -> Selection:
    """Keep every rollout with a finite reward; ``m`` and ``seed`` are accepted and play no part.

    Raises:
        ValueError: if shapes differ.
    """
    values = as_rewards(rewards)
    Groups.of(groups, len(values))  # the shape check the other rules make
    rows = np.flatnonzero(np.isfinite(values))
    return Selection(rows, np.ones(len(rows)))
