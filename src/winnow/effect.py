"""What a group of rollouts teaches, and which of its rows are worth training on.

The model is derived in docs/winnow-recipe.md. A group estimates the gradient of its prompt's log-odds in two ways: by
the mean score of its right rollouts over the failure rate, and by that of its wrong ones over the pass rate, with the
sign turned. Weighted for the least noise, r right and w wrong rollouts of n give it the precision
``P = f^2 r / right + p^2 w / wrong``, f = w / n and p = r / n, where `Noise` holds the variance of a score on
either side. Prompts differ, which no further rollout of one of them removes; in units of that variance the group adds
``P / (1 + P)`` to the signal-to-noise ratio of a step. Times the failure rate it is the group's part in the gradient
of mean log pass rate: its *effect*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray

RIGHT, WRONG = 0.05, 1.4
LEAST, MOST = 1e-9, 1e9


@dataclass(frozen=True, slots=True)
class Noise:
    """Variance of a rollout's score within a prompt, over the variance between prompts of the log-odds gradient.

    The defaults are those of short exact answers (benchmarks/contrast_noise.py), where right completions of a prompt
    are alike and wrong ones are not. Equal numbers give the symmetric contrast of both sides.

    Attributes:
        right: of right rollouts.
        wrong: of wrong ones.

    Raises:
        ConfigError: if one is not from `LEAST` to `MOST`.
    """

    right: float = RIGHT
    wrong: float = WRONG

    def __post_init__(self) -> None:
        for name in ("right", "wrong"):
            if not LEAST <= getattr(self, name) <= MOST:
                raise ConfigError(f"noise {name}={getattr(self, name)!r}: use a number from {LEAST:g} to {MOST:g}")


@dataclass(frozen=True, slots=True)
class Worth:
    """What groups teach and the rows that do it.

    Attributes:
        effect: float64, in [0, 1).
        right: int64, right rows that train.
        wrong: int64, wrong rows that train.
        precision: float64, P of these rows.
    """

    effect: FloatArray
    right: IntArray
    wrong: IntArray
    precision: FloatArray

    @property
    def rows(self) -> IntArray:
        """Rows that train."""
        return self.right + self.wrong


def worth(right: npt.ArrayLike, wrong: npt.ArrayLike, failing: npt.ArrayLike, noise: Noise, toll: float) -> Worth:
    """Return the rows that make ``failing P / (1 + P) - toll rows`` largest, and what groups teach by them.

    Args:
        right: successes of each group.
        wrong: its failures.
        failing: failure rate of its prompt.
        noise: see `Noise`.
        toll: effect that a row has to add to train; 0 trains all.

    The side whose rows add more precision each comes first. With g a row's precision and P what is there before it, it
    adds ``failing g / ((1 + P) (1 + P + g))``, which falls with P, so the count has a closed form. A row that adds
    exactly the toll trains. Groups without contrast teach nothing, and none of their rows train.

    Complexity: O(G).
    """
    r, w = np.asarray(right, np.int64), np.asarray(wrong, np.int64)
    size = np.maximum(r + w, 1)
    contrast = (r > 0) & (w > 0)
    of_right = np.where(contrast, np.square(w / size) / noise.right, 0.0)
    of_wrong = np.where(contrast, np.square(r / size) / noise.wrong, 0.0)
    leads = of_right >= of_wrong
    gain, there = np.maximum(of_right, of_wrong), np.where(leads, r, w)
    first = _count(gain, np.zeros(r.shape), failing, toll, there)
    before = np.asarray(first * gain, np.float64)
    second = _count(np.minimum(of_right, of_wrong), before, failing, toll, r + w - there)
    second = np.where(first == there, second, 0)
    kept_right, kept_wrong = np.where(leads, first, second), np.where(leads, second, first)
    precision = kept_right * of_right + kept_wrong * of_wrong
    effect = np.asarray(failing, np.float64) * precision / (1 + precision)
    return Worth(effect, kept_right, kept_wrong, precision)


def _count(gain: FloatArray, before: FloatArray, failing: npt.ArrayLike, toll: float, there: IntArray) -> IntArray:
    """Return how many of the rows ``there``, of precision ``gain`` each, add the toll to the effect."""
    live = gain > 0
    if toll == 0:
        return np.where(live, there, 0)
    g = np.where(live, gain, 1.0)
    # (1 + P)(1 + P + g) <= failing g / toll holds up to the larger root of a quadratic in 1 + P + g.
    root = g / 2 + np.sqrt(np.square(g) / 4 + np.asarray(failing, np.float64) * g / toll)
    rows = np.floor((root - 1 - before) / g + 1e-9)
    return np.where(live, np.clip(rows, 0, there), 0).astype(np.int64)
