"""PODS: the m rollouts whose rewards vary most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray
from winnow.selection.base import Selection, leftmost, register, select_by_block

# Splits whose variances differ by less than this share of the best are a tie.
TIE = 1e-12
# Groups whose rewards span more than this, or less than its inverse, are scaled so that squares stay in range.
LARGE = 1e140


@register
def max_variance(
    rewards: npt.ArrayLike,
    m: int | float,
    groups: npt.ArrayLike | None = None,
    *,
    seed: int | np.random.Generator | None = None,
) -> Selection:
    """Keep the m rollouts of every group with the largest reward variance.

    Some optimum consists of the k largest and the m-k smallest rewards, because the variance is convex in
    each single reward (PODS, arXiv 2504.13818, Lemma 3.1); so one sort and a scan over k find it
    (Algorithm 2). The scan works on sums shifted by the group's minimum, so a common offset of the
    rewards does not change the result.

    Args:
        rewards: (N,) floats in any unit. NaN, None and infinities are unscorable: never kept, and not
            counted in n.
        m: rows to keep per group: an int (groups with fewer scorable rollouts keep all), or a float
            fraction of each group's scorable rollouts.
        groups: (N,) integer labels in any order, negative and sparse ones included; None is one group.
        seed: None breaks ties among equal rewards by position, a seed breaks them at random.

    Returns:
        `Selection` with sorted rows and weights of 1.

    Ties among splits with the same variance (relative 1e-12): the all-largest split first, then the one
    with the fewest large rewards, as in the authors' code. A group of equal rewards keeps its first m.

    Raises:
        ConfigError: if m is not a positive int or a fraction in (0, 1].
        ValueError: if shapes differ.

    Complexity: O(N log n) time, O(N) bytes beside the result.
    """
    return select_by_block(_block, rewards, m, groups, seed)


def _block(values: FloatArray, m: int) -> npt.NDArray[np.bool_]:
    n = values.shape[1]
    ordered = np.sort(values, axis=1)
    top = _best_split(ordered, m)
    each = np.arange(len(values))
    # The largest of the small rewards kept and the smallest of the large ones; -inf, inf where there is none.
    low = np.where(top < m, ordered[each, np.maximum(m - top - 1, 0)], -np.inf)
    high = np.where(top > 0, ordered[each, np.minimum(n - top, n - 1)], np.inf)
    keep = (values <= low[:, None]) | (values >= high[:, None])
    # A reward next to a threshold, but on its other side, may equal it: then too many rows pass.
    crowded = np.flatnonzero((ordered[each, m - top] == low) | (ordered[each, n - top - 1] == high))
    if len(crowded):
        keep[crowded] = _thin(values[crowded], low[crowded], high[crowded], top[crowded], m)
    return keep


def _best_split(ordered: FloatArray, m: int) -> npt.NDArray[np.int64]:
    """Return how many of the m kept rewards come from the top, for ascending rewards (g, n).

    Works on transposed arrays (m, g), so that each step of the scan is one vector operation over g groups.
    """
    small = ordered[:, :m].T.copy()
    large = ordered[:, -m:].T.copy()
    base = small[0].copy()
    small -= base
    large -= base
    span = large[-1]
    if span.max() > LARGE or np.min(span, where=span > 0, initial=1.0) < 1 / LARGE:
        exponent = np.frexp(span)[1]
        small, large = np.ldexp(small, -exponent), np.ldexp(large, -exponent)
    # Row k holds the sum, or the sum of squares, of the rewards kept under split k. From k to k+1 the
    # largest of the small rewards leaves and the next of the large ones comes.
    total, squares = np.empty((2, m + 1, len(ordered)))
    gain = large - small
    total[0] = small.sum(axis=0)
    total[1:] = gain[::-1]
    large += small
    large *= gain
    small *= small
    squares[0] = small.sum(axis=0)
    squares[1:] = large[::-1]
    for k in range(m):
        total[k + 1] += total[k]
        squares[k + 1] += squares[k]
    squares *= m
    total *= total
    spread = squares - total  # m^2 times the variance
    tied = spread >= spread.max(axis=0) * (1 - TIE)
    return np.where(tied[m], m, tied.argmax(axis=0))


def _thin(
    values: FloatArray, low: FloatArray, high: FloatArray, top: npt.NDArray[np.int64], m: int
) -> npt.NDArray[np.bool_]:
    """Resolve ties at the two thresholds by position; where the thresholds meet they share one quota."""
    columns = np.ascontiguousarray(values.T)
    below, above = columns < low, columns > high
    quota_low = m - top - np.count_nonzero(below, axis=0)
    quota_high = top - np.count_nonzero(above, axis=0)
    meet = low == high
    at_low = leftmost(columns == low, np.where(meet, quota_low + quota_high, quota_low))
    at_high = leftmost(columns == high, np.where(meet, 0, quota_high))
    return (below | above | at_low | at_high).T
