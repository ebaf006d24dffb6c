"""RLOO: rewards minus the mean of the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.advantage.base import Centred, register
from winnow.groups import FloatArray


@register
def rloo(rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> FloatArray:
    """Return ``r_i - mean of the other rewards`` = ``n/(n-1) (r_i - mean)`` (RLOO, arXiv 2402.14740).

    The only one of the three whose expected gradient does not depend on n, for any n >= 2 fixed before the
    rewards are seen. Arguments, zeros, NaN rule, warning and complexity are those of `grpo`.
    """
    deviations = Centred.of(rewards, groups)
    sizes = deviations.groups.sizes
    factor = sizes / np.maximum(sizes - 1, 1)
    return deviations.rows(deviations.deviation * deviations.groups.spread(factor))
