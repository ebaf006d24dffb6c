"""What more rollouts of a group can be expected to add to what it teaches, under a belief about its pass rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.effect import effect
from winnow.groups import FloatArray, IntArray

FARTHEST = 16
"""Rollouts looked ahead at most."""
ITERATIONS = 8


@dataclass(frozen=True, slots=True)
class Outlook:
    """What going on is worth, by successes and failures so far; arrays are (most + 1, most + 1).

    Attributes:
        index: expected effect gained per unit of cost with the best number of further rollouts; 0 without room for any.
        size: int64, that number; the smallest of equally good ones.
        rate: effect per unit of cost of opening such a prompt and going on for as long as the index exceeds this rate.
        rest: rollouts then expected after the next ``size``.
    """

    index: FloatArray
    size: IntArray
    rate: float
    rest: FloatArray


@lru_cache(maxsize=1024)
def outlook(a: float, b: float, *, noise: float, price: float, most: int) -> Outlook:
    """Return what more rollouts promise for every group of at most ``most``, under a Beta(a, b) belief.

    With E_m the expectation over m further outcomes, ``index = max over m of (E_m effect - effect) / (m + price dR)``,
    where dR is the expected growth of the rows that train, two for each pair of a right and a wrong one. The rate is
    that of the policy which it is the threshold of (renewal and reward: prompts are opened one after the other), found
    by iteration from the index of a group not begun; for it, rollouts after the first request are taken one by one.

    Args:
        a: successes believed in before the group, above 0.
        b: failures, above 0.
        noise: see `winnow.effect`.
        price: cost of a trained row in rollouts.
        most: largest group.

    Complexity: O(most^2 (most + `FARTHEST`)), once for each set of arguments.
    """
    right, wrong = np.meshgrid(np.arange(most + 1.0), np.arange(most + 1.0), indexing="ij")
    passing = (a + right) / (a + b + right + wrong)
    now, rows = effect(right, wrong, 1 - passing, noise), 2 * np.minimum(right, wrong)
    later, more_rows = now, rows
    index, size = np.zeros(now.shape), np.ones(now.shape, np.int64)
    reach = min(FARTHEST, most)
    for further in range(1, reach + 1):
        later, more_rows = _next(later, passing), _next(more_rows, passing)
        gain = (later - now) / (further + price * np.maximum(more_rows - rows, 0.0))
        better = (right + wrong + further <= most) & (gain > index + 1e-12)
        index, size = np.where(better, gain, index), np.where(better, further, size)
    first, rate = int(size[0, 0]), float(index[0, 0])
    for _ in range(ITERATIONS):
        drawn, taught = _played(index > rate, np.stack((price * rows, now)), passing, most)
        drawn, taught = _after(drawn, passing, first), _after(taught, passing, first)
        found = float(taught[0, 0] / (first + drawn[0, 0]))
        if found <= rate * (1 + 1e-6):
            break
        rate = found
    going, _ = _played(index > rate, np.stack((np.zeros_like(now), now)), passing, most)
    rest = np.zeros(now.shape)
    for further in np.unique(size).tolist():
        rest = np.where(size == further, _after(going, passing, further), rest)
    return Outlook(index, size, rate, rest)


def _played(going: npt.NDArray[np.bool_], ends: FloatArray, passing: FloatArray, most: int) -> FloatArray:
    """Return cost and effect expected from every state where rollouts go on one by one while ``going``."""
    cost, taught = ends
    step = np.zeros_like(cost)
    for _ in range(most):
        step = np.where(going, 1 + _next(step, passing), cost)
        taught = np.where(going, _next(taught, passing), ends[1])
    return np.stack((step, taught))


def _after(values: FloatArray, passing: FloatArray, further: int) -> FloatArray:
    """Return the expectation of ``values`` after ``further`` more rollouts."""
    for _ in range(further):
        values = _next(values, passing)
    return values


def _next(values: FloatArray, passing: FloatArray) -> FloatArray:
    """Return the expectation of ``values`` after one more rollout; edges, which have no successor, keep theirs."""
    found = values.copy()
    found[:-1, :-1] = passing[:-1, :-1] * values[1:, :-1] + (1 - passing[:-1, :-1]) * values[:-1, 1:]
    return found
