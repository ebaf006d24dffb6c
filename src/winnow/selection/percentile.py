"""Evenly spaced quantiles: keep the shape of the reward distribution rather than its extremes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray
from winnow.selection.base import Selection, register, select_by_block


@register
def percentile(
    rewards: npt.ArrayLike,
    m: int | float,
    groups: npt.ArrayLike | None = None,
    *,
    seed: int | np.random.Generator | None = None,
) -> Selection:
    """Keep the rollouts at the ranks ``floor((i + 0.5) n / m)``, i = 0..m-1, of the ascending rewards.

    A baseline named in the PODS paper (arXiv 2504.13818); its exact rule is not public, so the
    mid-quantile rule is ours. Equal rewards are ranked by position, or at random with a seed. Arguments,
    NaN rule and errors are those of `max_variance`.

    Complexity: O(N log n) time.
    """
    return select_by_block(_block, rewards, m, groups, seed)


def _block(values: FloatArray, m: int) -> npt.NDArray[np.bool_]:
    n = values.shape[1]
    ranks = (2 * np.arange(m) + 1) * n // (2 * m)
    columns = np.argsort(values, axis=1, kind="stable")[:, ranks]
    keep = np.zeros(values.shape, bool)
    np.put_along_axis(keep, columns, True, axis=1)
    return keep
