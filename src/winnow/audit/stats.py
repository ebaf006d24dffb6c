"""Small statistics that a stream can keep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Z95 = 1.959963984540054
RESAMPLES = 200


def wilson(successes: int, total: int, z: float = Z95) -> tuple[float, float]:
    """Return the Wilson score interval of a share; (0, 1) of nothing. Takes the trials as independent."""
    if not total:
        return 0.0, 1.0
    share = successes / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == total else (centre + spread) / scale
    return low, high


@dataclass
class Moments:
    """Count, mean, deviation and range of the numbers seen; missing ones are counted apart (LOG-01).

    The sums are Welford's, so that large offsets cost no digits.
    """

    count: int = 0
    missing: int = 0
    mean: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    _squares: float = 0.0

    def add(self, value: float | None) -> None:
        """Take a number in; None and NaN are missing."""
        if value is None or math.isnan(value):
            self.missing += 1
            return
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self._squares += step * (value - self.mean)
        self.low, self.high = min(self.low, value), max(self.high, value)

    @property
    def constant(self) -> bool:
        """Whether two or more numbers were seen and all were equal."""
        return self.count > 1 and self.low == self.high

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, None for what no number was seen of."""
        if not self.count:
            return {"count": 0, "missing": self.missing, "mean": None, "std": None, "min": None, "max": None}
        return {
            "count": self.count,
            "missing": self.missing,
            "mean": self.mean,
            "std": math.sqrt(self._squares / self.count),
            "min": self.low,
            "max": self.high,
        }


class Within:
    """A correlation within groups: each group centred on its own means, then pooled.

    ``r = sum Sxy / sqrt(sum Sxx sum Syy)`` over groups, so that a prompt whose answers are long and right by nature
    does not count as evidence. The 95% interval is a bootstrap over groups by Poisson weights, which a stream
    allows; memory is constant.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._sums = np.zeros(3)
        self._resampled = np.zeros((RESAMPLES, 3))
        self.groups = 0

    def add(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
        """Take a group in, two finite columns (G,). One in which either does not vary says nothing of their tie."""
        if len(x) < 2 or not (np.ptp(x) and np.ptp(y)):
            return
        self.groups += 1
        x, y = x - x.mean(), y - y.mean()
        sums = np.array([x @ y, x @ x, y @ y])
        self._sums += sums
        self._resampled += np.outer(self._random.poisson(1.0, RESAMPLES), sums)

    def as_dict(self) -> dict[str, Any]:
        """Return ``r``, ``low``, ``high`` (None without a group in which both vary) and ``groups``."""
        if not self.groups:
            return {"r": None, "low": None, "high": None, "groups": 0}
        resampled = self._resampled[self._resampled[:, 1] > 0]
        low, high = np.quantile(_r(resampled), [0.025, 0.975])
        return {"r": float(_r(self._sums)), "low": float(low), "high": float(high), "groups": self.groups}


def _r(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(sums[..., 0] / np.sqrt(sums[..., 1] * sums[..., 2]))
