"""MaxRL: rewards minus the mean, over the mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import Advantage, Centred, register
from winnow.advantage.ranges import check_range, checked_by
from winnow.groups import FloatArray, as_rewards


def _check(rewards: npt.ArrayLike) -> None:
    check_range(rewards, "maxrl")


@register
@checked_by(_check)
def maxrl(rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> FloatArray:
    """Return ``(r - mean) / mean`` inside each group, 0 where the mean is 0 (MaxRL, arXiv 2602.02710).

    For 0/1 rewards its expected gradient is that of the first n - 1 terms of ``log p = -sum (1-p)^k / k``, p the pass
    rate: hard prompts pull like 1 / p. (Without the baseline it would be n terms; an all-wrong group, in which the
    baseline is not subtracted, costs the last one.) Values lie in [-1, n - 1]. Rewards count from 0: an offset changes
    the result.

    Arguments, zeros, NaN rule, warning and complexity are those of `grpo`.

    Raises:
        ConfigError: if a finite reward is negative.
    """
    _check(rewards)
    values = as_rewards(rewards)
    centred = Centred.of(values, groups)
    mean = centred.per_group(centred.groups.gather(values)) / centred.groups.sizes
    return centred.rows(centred.deviation / centred.groups.spread(np.where(mean > 0, mean, 1.0)))


declare(
    "maxrl",
    About(
        paper="MaxRL, arXiv 2602.02710",
        idea="rewards minus the group's mean, divided by that mean",
        saves="nothing; hard prompts pull like 1 / pass rate",
        costs="variance: one success among n has the advantage n - 1",
        bias="none for the truncated log-likelihood it climbs; it is not the pass rate",
    ),
    lambda: {"advantage": Advantage("maxrl")},
)
