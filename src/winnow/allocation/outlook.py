"""What more rollouts of a group can be expected to add to what it teaches, under a belief about its pass rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.effect import Noise, worth
from winnow.groups import FloatArray, IntArray

FARTHEST = 16
"""Rollouts looked ahead at most."""
ITERATIONS, TOLERANCE = 12, 1e-5


@dataclass(frozen=True, slots=True)
class Outlook:
    """What going on is worth, by successes and failures so far; arrays are (most + 1, most + 1).

    Attributes:
        index: expected gain per rollout with the best number of further rollouts; 0 without room for any.
        size: int64, that number; the smallest of equally good ones.
        rate: effect per unit of cost of opening such a prompt and going on for as long as the index exceeds this rate.
        rest: rollouts then expected after the next ``size``.
    """

    index: FloatArray
    size: IntArray
    rate: float
    rest: FloatArray


@lru_cache(maxsize=1024)
def outlook(a: float, b: float, *, noise: Noise, price: float, most: int, opening: float = 0.0) -> Outlook:
    """Return what more rollouts promise for every group of at most ``most``, under a Beta(a, b) belief.

    A group is worth its effect less what its rows cost at the rate, with the rows that make this largest
    (`winnow.effect.worth`). With E_m the expectation over m further outcomes, ``index = max over m of (E_m worth -
    worth) / m``, where the first request of a group costs ``opening`` more. The rate is what the policy earns that goes
    on while the index exceeds it, prompts being opened one after the other (renewal and reward), found by iteration
    from 0; for it, rollouts after the first request are taken one by one.

    Args:
        a: successes believed in before the group, above 0.
        b: failures, above 0.
        noise: see `winnow.effect.Noise`.
        price: cost of a trained row in rollouts.
        most: largest group.
        opening: cost of opening a prompt in rollouts.

    Complexity: O(most^2 (most + `FARTHEST`)), once for each set of arguments.
    """
    right, wrong = np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij")
    passing = (a + right) / (a + b + right + wrong)
    rate = 0.0
    for _ in range(ITERATIONS):
        group = worth(right, wrong, 1 - passing, noise, price * rate)
        index, size = _best(group.effect - price * rate * group.rows, passing, most, opening)
        first, going = int(size[0, 0]), index > rate
        after = _played(np.stack((np.zeros(passing.shape), group.effect, group.rows)), going, passing, most)
        drawn, taught, rows = _after(after, passing, first)[:, 0, 0].tolist()
        found = taught / (opening + first + drawn + price * rows)
        if found <= rate * (1 + TOLERANCE):
            break
        rate = found
    rest = np.zeros(passing.shape)
    for further in np.unique(size).tolist():
        rest = np.where(size == further, _after(after[0], passing, further), rest)
    return Outlook(index, size, rate, rest)


def _best(now: FloatArray, passing: FloatArray, most: int, opening: float) -> tuple[FloatArray, IntArray]:
    """Return the largest expected gain per further rollout for every state, and the number that has it."""
    size = np.add.outer(np.arange(most + 1), np.arange(most + 1))
    later, index, best = now, np.zeros(now.shape), np.ones(now.shape, np.int64)
    for further in range(1, min(FARTHEST, most) + 1):
        later = _next(later, passing)
        gain = (later - now) / (further + np.where(size == 0, opening, 0.0))
        better = (size + further <= most) & (gain > index + 1e-12)
        index, best = np.where(better, gain, index), np.where(better, further, best)
    return index, best


def _played(ends: FloatArray, going: npt.NDArray[np.bool_], passing: FloatArray, most: int) -> FloatArray:
    """Return what is expected from every state where rollouts go on one by one while ``going``.

    Of each (most + 1, most + 1) matrix of ``ends``, the mean of its entry where they end; of the first one, to which
    every rollout adds 1, thereby the number of rollouts.
    """
    value = ends.copy()
    for _ in range(most):
        later = _next(value, passing)
        later[0] += 1
        value = np.where(going, later, ends)
    return value


def _after(values: FloatArray, passing: FloatArray, further: int) -> FloatArray:
    """Return the expectation of ``values`` after ``further`` more rollouts."""
    for _ in range(further):
        values = _next(values, passing)
    return values


def _next(values: FloatArray, passing: FloatArray) -> FloatArray:
    """Return the expectation of ``values`` after one more rollout; edges, which have no successor, keep theirs."""
    found = values.copy()
    found[..., :-1, :-1] = passing[:-1, :-1] * values[..., 1:, :-1] + (1 - passing[:-1, :-1]) * values[..., :-1, 1:]
    return found
