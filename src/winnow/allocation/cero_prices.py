"""The prices of CERO: what a further unit of rollouts is worth to each prompt, and what the step's budget costs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray, IntArray


def spread(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return q, the posterior mean of ``p (1-p)`` under Beta(a, b): ``a b / ((a+b) (a+b+1))``."""
    right, wrong = np.asarray(a, np.float64), np.asarray(b, np.float64)
    total = right + wrong
    return np.asarray(right * wrong / (total * (total + 1)))


def demand(price: FloatArray, rate: FloatArray, most: float) -> FloatArray:
    """Return the units z in [0, most] that maximise ``1 - exp(-rate z) - price z`` (CERO, arXiv 2606.05606).

    0 where ``price >= rate`` or ``rate`` is 0, ``most`` where ``price <= rate exp(-rate most)``, otherwise
    ``ln(rate / price) / rate``.

    Args:
        price: (P,) at least 0.
        rate: (P,) at least 0, how fast the utility saturates.
        most: most units, above 0.
    """
    rising = price < rate
    safe = np.where(rising, rate, 1.0)
    with np.errstate(divide="ignore"):
        inner = np.log(safe / np.where(rising, price, 1.0)) / safe
    return np.where(rising, np.minimum(inner, most), 0.0)


def in_order(total: int, size: int, most: int) -> IntArray:
    """Return int64 (size,): units for the first, second, ... in line, ``most`` each until ``total`` is used up."""
    return np.clip(total - most * np.arange(size), 0, most)


def hashed_rank(ids: IntArray, permutation: int) -> npt.NDArray[np.uint64]:
    """Return numbers (P,) whose order is a permutation of all ids that stays the same from step to step.

    The mixing function is that of splitmix64.
    """
    with np.errstate(over="ignore"):
        x = ids.astype(np.uint64) + np.uint64((permutation + 1) % 2**64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
