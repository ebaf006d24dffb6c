"""The m best rollouts: a baseline of the PODS paper, known to hurt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray
from winnow.selection.base import Selection, leftmost, register, select_by_block


@register
def max_reward(
    rewards: npt.ArrayLike,
    m: int | float,
    groups: npt.ArrayLike | None = None,
    *,
    seed: int | np.random.Generator | None = None,
) -> Selection:
    """Keep the m largest rewards of every group (PODS, arXiv 2504.13818, baseline).

    Arguments, NaN rule, errors and the tie rule among equal rewards are those of `max_variance`.
    The authors measure 67.3 against 82.6 for max-variance on GSM8K (n = 64, m = 16).

    Complexity: O(N) expected time.
    """
    return select_by_block(_block, rewards, m, groups, seed)


def _block(values: FloatArray, m: int) -> npt.NDArray[np.bool_]:
    threshold = np.partition(values, -m, axis=1)[:, [-m]]
    above = values > threshold
    return above | leftmost((values == threshold).T.copy(), m - np.count_nonzero(above, axis=1)).T
