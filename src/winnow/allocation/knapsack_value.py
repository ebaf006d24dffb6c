"""What Knapsack RL takes a group of n rollouts to be worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray, IntArray


def value(rates: FloatArray, n: npt.ArrayLike) -> FloatArray:
    """Return ``(1 - p^n - (1-p)^n) p (1-p)^2`` (arXiv 2509.25849): chance of signal times gain, largest at p = 1/3.

    Args:
        rates: p, in [0, 1].
        n: rollouts, at least 1; broadcast against ``rates``.
    """
    size = np.asarray(n)
    chance = 1 - rates**size - (1 - rates) ** size
    return np.asarray(chance * rates * (1 - rates) ** 2)


def rises(rates: FloatArray, n: IntArray) -> FloatArray:
    """Return (P, K): ``value(n + 1) - value(n)``, exactly 0 at p = 0 and 1 and without cancellation elsewhere."""
    p, q = rates[:, None], 1 - rates[:, None]
    return (p**n * q + q**n * p) * p * q**2


def need(rates: FloatArray, confidence: float) -> IntArray:
    """Return the rollouts of prompts with 0 < p < 1 until their rarer outcome is seen with this confidence."""
    draws: FloatArray = np.log(1 - confidence) / np.log(np.maximum(rates, 1 - rates))
    return np.ceil(draws - 1e-9).astype(np.int64)
