"""Dr.GRPO: rewards minus the mean of the group."""

from __future__ import annotations

import numpy.typing as npt

from winnow.advantage.base import Centred, register
from winnow.groups import FloatArray


@register
def centred(rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> FloatArray:
    """Return ``r - mean`` inside each group (Dr.GRPO, arXiv 2503.20783).

    Its expected gradient is (n-1)/n of the true one, so a small group pulls less. Arguments, zeros, NaN
    rule, warning and complexity are those of `grpo`.
    """
    deviations = Centred.of(rewards, groups)
    return deviations.rows(deviations.deviation)
