"""Numbers over seeds: cost to a target with censored seeds, and bootstrap intervals.

A run reaches the target at its first evaluation at or above it; between that evaluation and the one
before, accuracy is taken as linear in the cost. Nothing is smoothed, and a later fall below the
target changes nothing. A seed that never reaches it is censored: its cost is known to exceed the
budget and counts as infinity, so costs are summarised by the median, which stays finite as long as
more than half of the seeds arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from winnow.report.run import Floats

RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A statistic over seeds with its percentile bootstrap interval.

    Attributes:
        value: the statistic; infinite where censored seeds decide it.
        low: lower end of the interval.
        high: upper end, possibly infinite.
        seeds: how many seeds entered.
        censored: how many of them never reached the target.
    """

    value: float
    low: float
    high: float
    seeds: int
    censored: int = 0

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the fields for JSON, None in place of infinity (more than the budget) and NaN."""
        return {
            name: None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in asdict(self).items()
        }


def to_target(cost: Floats, accuracy: Floats, target: float) -> float:
    """Return the cost at which accuracy first reaches ``target``; infinity when it never does.

    Args:
        cost: (E,) non-decreasing cost at each evaluation.
        accuracy: (E,) held-out accuracy there. Evaluations where either is NaN are left out.
        target: accuracy to reach, compared with >=.
    """
    known = np.isfinite(cost) & np.isfinite(accuracy)
    cost, accuracy = cost[known], accuracy[known]
    reached = np.flatnonzero(accuracy >= target)
    if not len(reached):
        return float("inf")
    at = int(reached[0])
    if at == 0:
        return float(cost[0])
    share = (target - accuracy[at - 1]) / (accuracy[at] - accuracy[at - 1])
    return float(cost[at - 1] + share * (cost[at] - cost[at - 1]))


def bootstrap(
    values: Sequence[float] | Floats,
    statistic: Callable[[Floats], Floats],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Estimate:
    """Resample seeds with replacement and return ``statistic`` with its percentile interval.

    Args:
        values: (S,) one number per seed; infinity marks a censored seed.
        statistic: reduces the last axis, as ``numpy.mean`` with ``axis=-1``.
        resamples: number of bootstrap samples.
        level: probability the interval should hold.
        seed: of the resampling, so that a table printed twice is the same table.

    The ends are order statistics of the resamples, never a blend of two, so infinity is handled
    exactly. One seed gives an interval of no width: read it as unknown. No seed gives NaN.
    """
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    draws = sample[resample(len(sample), resamples, seed)]
    low, high = np.quantile(statistic(draws), [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return Estimate(float(statistic(sample)), float(low), float(high), len(sample), int(np.isinf(sample).sum()))


def resample(seeds: int, resamples: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return (resamples, seeds) indices drawn with replacement."""
    return np.random.default_rng(seed).integers(0, seeds, size=(resamples, seeds))


def median(values: Floats) -> Floats:
    """Median over the last axis; between a finite and an infinite middle value it is infinite."""
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    result: Floats = (ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2
    return result


def mean(values: Floats) -> Floats:
    """Mean over the last axis."""
    result: Floats = np.mean(values, axis=-1)
    return result


def paired_difference(ours: Floats, base: Floats) -> Estimate:
    """Return the mean of ``ours - base`` over seeds both have, resampled pair by pair.

    Both (S,), aligned by seed; pairs with a NaN are left out.
    """
    difference = ours - base
    return bootstrap(difference[np.isfinite(difference)], mean)


def band(curves: Floats, *, resamples: int = 1000, level: float = LEVEL, seed: int = 0) -> tuple[Floats, Floats]:
    """Return the pointwise bootstrap interval of the mean of ``curves`` (S, G), as two arrays (G,)."""
    means = curves[resample(len(curves), resamples, seed)].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
