"""The program VIP solves: the variance of the gradient as a function of how many rollouts each prompt gets."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray

Gradient = Literal["rloo", "dr-grpo"]

SMALLEST = {"rloo": 2, "dr-grpo": 3}
"""From these n on the variance falls with n and is convex. Dr.GRPO's is 0 at n = 1, where there is no gradient."""


def variance(n: npt.ArrayLike, gradient: Gradient) -> FloatArray:
    """Return the variance of a prompt's gradient in units of ``4 p (1-p) sigma^2`` (VIP, theorems 5.1 and 5.2).

    It is ``1/(n-1)`` for RLOO and ``(n-1)/n^2`` for Dr.GRPO: rewards of +-1, independent of the scores, on-policy.
    """
    size = np.asarray(n, np.float64)
    return 1 / (size - 1) if gradient == "rloo" else (size - 1) / size**2


def gains(weight: FloatArray, n: IntArray, gradient: Gradient) -> FloatArray:
    """Return (P, K): by how much rollout n + 1 lowers the variance of each prompt.

    Args:
        weight: (P,) ``4 p (1-p)``.
        n: int64 (K,), at least `SMALLEST`.
        gradient: the estimator.
    """
    return weight[:, None] * (variance(n, gradient) - variance(n + 1, gradient))


def relaxed(weight: FloatArray, total: float, low: float, high: float, gradient: Gradient) -> tuple[FloatArray, float]:
    """Solve the program in real numbers: a bound for what any whole numbers reach, and their price.

    Minimise ``sum weight variance(n)`` with ``sum n = total`` and ``low <= n <= high``. At the multiplier lambda, found
    by bisection, RLOO has ``n = 1 + sqrt(w/lambda)`` and Dr.GRPO the largest root of ``w (n-2)/n^3 = lambda``, in
    closed form ``2 sqrt(w/(3 lambda)) cos(arccos(-3 sqrt(3 lambda/w))/3)``; both are then clipped.

    Args:
        weight: (P,) at least 0; prompts of weight 0 get ``low``.
        total: between ``P low`` and ``P high``.
        low: at least `SMALLEST`.
        high: at least ``low``.
        gradient: the estimator.

    Returns:
        float64 (P,) and lambda; lambda is about 0 where prompts of positive weight cannot hold the total.

    Raises:
        ConfigError: if the bounds exclude the total.

    Complexity: O(P), 200 passes.
    """
    if not len(weight) * low <= total <= len(weight) * high:
        raise ConfigError(f"{total} rollouts for {len(weight)} prompts of {low} to {high} each: no split exists")

    def counts(price: float) -> FloatArray:
        if gradient == "rloo":
            n: FloatArray = 1 + np.sqrt(weight / price)
        else:
            n = np.full(len(weight), float(low))
            inside = weight > 27 * price  # elsewhere the price is above what any n >= 3 is worth
            share = weight[inside] / (3 * price)
            n[inside] = 2 * np.sqrt(share) * np.cos(np.arccos(-3 / np.sqrt(share)) / 3)
        return n.clip(low, high)

    least, most = 1e-18, 1e3
    for _ in range(200):
        price = float(np.sqrt(least * most))
        if counts(price).sum() > total:
            least = price
        else:
            most = price
    return counts(most), most
