"""GRPO: z-scores inside the group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.advantage.base import Centred, register
from winnow.groups import FloatArray


@register
def grpo(
    rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None, *, ddof: int = 1, eps: float = 1e-4
) -> FloatArray:
    """Return ``(r - mean) / (std + eps)`` inside each group (DeepSeekMath, arXiv 2402.03300).

    Args:
        rewards: (N,) floats; NaN, None and infinities are left out of every statistic and get 0.
        groups: (N,) integer labels in any order, None for one group.
        ddof: 1 for the sample standard deviation (TRL, verl), 0 for the population's.
        eps: added to the standard deviation (1e-4 in TRL, 1e-6 in verl).

    Returns:
        float64 (N,). A group with one scorable rollout, or with equal rewards (max == min in float64),
        gets exactly 0: never the raw reward, never rounding noise.

    Raises:
        ValueError: if shapes differ or ddof is not 0 or 1.

    Warns:
        GroupWarning: if every group has one member.

    Known bias: the expected gradient grows with the group size (objectives, section 0), so unequal groups
    pull unequally; `rloo` does not have this.

    Complexity: O(N), plus a stable sort when rows do not lie group by group.
    """
    if ddof not in (0, 1):
        raise ValueError(f"ddof={ddof!r}: use 1 (sample) or 0 (population)")
    centred = Centred.of(rewards, groups)
    sizes = centred.groups.sizes
    # Squares of very large or very small rewards leave the range of floats, so each group is scaled by a power of two.
    unit = np.exp2(np.frexp(centred.largest())[1])
    scaled = centred.deviation / centred.groups.spread(unit)
    spread = np.sqrt(centred.per_group(scaled**2) / np.maximum(sizes - ddof, 1)) * unit
    scale = np.where(spread > 0, spread + eps, 1.0)
    return centred.rows(centred.deviation / centred.groups.spread(scale))
