"""Splitting rollouts over prompts where each further one of a prompt adds less than the one before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from winnow.groups import FloatArray, IntArray
from winnow.observed import RANKING_BITS

Gain = Callable[[IntArray], FloatArray]
"""From n (K,) to (P, K): what rollout number n + 1 of each prompt adds; it must not rise with n."""


def significant(values: FloatArray) -> FloatArray:
    """Round to 40 significant bits, so that values equal up to rounding errors (``p (1-p)`` at .2 and .8) tie."""
    mantissa, exponent = np.frexp(values)
    rounded: FloatArray = np.ldexp(np.rint(np.ldexp(mantissa, RANKING_BITS)), exponent - RANKING_BITS)
    return rounded


def greedy(gains: FloatArray, spare: int) -> IntArray:
    """Take the ``spare`` largest entries of a table, from left to right in each row.

    Where no row rises from left to right, this is the best split of all (the objective is separable and concave), the
    same that giving out one rollout at a time to the largest gain arrives at.

    Args:
        gains: (P, K), what the first, second, ... further rollout of each prompt adds.
        spare: how many to take, at most P K.

    Returns:
        int64 (P,), how many of each row. Equal gains fall to the row with the fewest so far, then to the lowest.

    Complexity: O(P K log(P K)).
    """
    size = len(gains)
    order = np.argsort(-significant(gains).T.ravel(), kind="stable")[:spare]
    return np.bincount(order % size, minlength=size)


def split(total: int, low: int, high: int, gain: Gain, worth: FloatArray) -> IntArray:
    """Split exactly ``total`` rollouts, ``low`` to ``high`` of them to every prompt, for the largest sum of gains.

    A total outside the bounds is spent all the same (ours). Below ``low`` per prompt, ``total // low`` prompts (at
    least one) are served, those of largest ``worth``, and the others get nothing: a group too small to teach would be
    spent for nothing. Above ``high`` per prompt all get ``total // P``, and the gains decide on the remainder.

    Args:
        total: at least 1.
        low: fewest of a prompt that is served, at least 1.
        high: most of a prompt, at least ``low``.
        gain: see `Gain`; called for n from ``low`` on, or from ``total // P`` if that is above ``high``.
        worth: (P,), which prompts go first when not all can be served; equal ones by position.

    Returns:
        int64 (P,), sums to ``total``.

    Complexity: O(P K log(P K)) with ``K = min(high - low, total - P low)``.
    """
    size = len(worth)
    if total < size * low:
        served = np.argsort(-significant(worth), kind="stable")[: max(1, total // low)]
        counts = np.zeros(size, np.int64)
        counts[served] = split(total, min(low, total), high, lambda n: gain(n)[served], worth[served])
        return counts
    if total > size * high:
        low = total // size
        high = low + 1
    spare = total - size * low
    return low + greedy(gain(np.arange(low, min(high, low + spare))), spare)


def evenly(total: int, size: int) -> IntArray:
    """Return int64 (size,) that sums to ``total``, the remainder at the front; empty for no places (and no total)."""
    counts = np.full(size, total // max(size, 1), np.int64)
    counts[: total - int(counts.sum())] += 1
    return counts
