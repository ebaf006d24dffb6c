"""A random m of n: the control every other rule has to beat."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray
from winnow.selection.base import Selection, register, select_by_block


@register
def random(
    rewards: npt.ArrayLike,
    m: int | float,
    groups: npt.ArrayLike | None = None,
    *,
    seed: int | np.random.Generator | None = None,
) -> Selection:
    """Keep m rollouts of every group, drawn uniformly without replacement (PODS, arXiv 2504.13818, baseline).

    Arguments, NaN rule and errors are those of `max_variance`; ``seed=None`` draws fresh entropy.

    Complexity: O(N).
    """
    return select_by_block(_block, rewards, m, groups, np.random.default_rng(seed))


def _block(values: FloatArray, m: int) -> npt.NDArray[np.bool_]:
    # The rows of each group arrive shuffled, so the first m are a uniform draw.
    return np.broadcast_to(np.arange(values.shape[1]) < m, values.shape)
