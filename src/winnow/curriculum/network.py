"""Small predictors of success rates: what all prompts share by their features, and what each has shown itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory

WIDTH = 64
"""Features are projected to at most this many numbers, which bounds time and checkpoints."""

PENALTY = 1.0
"""Ridge penalty: about the variance of a group's mean over the variance of success rates among unlike prompts."""

SPREAD = 2.0
"""Prior standard deviation, in logits, of a prompt's success rate under the logistic belief."""


def unit(features: FloatArray) -> FloatArray:
    """Return the rows (P, D) at length 1; rows of zeros stay."""
    length = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(length > 0, length, 1.0)


def inputs(features: FloatArray | None, count: int) -> FloatArray:
    """Return what the predictors take (P, K + 1): unit features, at most `WIDTH` of them, and a constant 1.

    Wider features go through one fixed random projection, which keeps inner products up to about ``1 / sqrt(WIDTH)``.
    Without features only the constant is left: predictors then know the mean over all prompts, and no more.
    """
    ones = np.ones((count, 1))
    if features is None:
        return ones
    vectors = unit(features)
    if vectors.shape[1] > WIDTH:
        vectors = vectors @ _projection(vectors.shape[1])
    return np.concatenate((vectors, ones), axis=1)


@lru_cache(maxsize=4)
def _projection(size: int) -> FloatArray:
    signs: FloatArray = np.random.default_rng(0).choice((-1.0, 1.0), (size, WIDTH))
    return signs / math.sqrt(WIDTH)


class Ridge:
    """Least squares of success rates on inputs, where older steps count ever less (ours).

    Minimises ``sum over prompts retain^age (rate - 1/2 - w . x)^2 + PENALTY |w|^2``: unknown prompts are at 1/2.
    """

    def __init__(self, retain: float) -> None:
        self._retain = retain
        self._squares: FloatArray = np.zeros((0, 0))
        self._products: FloatArray = np.zeros(0)

    def rates(self, x: FloatArray) -> FloatArray:
        """Return predictions (P,) in [0, 1] at inputs (P, K)."""
        if not len(self._products):
            return np.full(len(x), 0.5)
        _check(x, len(self._products))
        weights = np.linalg.solve(self._squares + PENALTY * np.eye(len(self._products)), self._products)
        return np.clip(0.5 + x @ weights, 0.0, 1.0)

    def learn(self, x: FloatArray, rates: FloatArray) -> None:
        """Take a step's inputs (P, K) and success rates (P,). Complexity: O(P K^2)."""
        if not len(self._products):
            self._squares, self._products = np.zeros((x.shape[1], x.shape[1])), np.zeros(x.shape[1])
        _check(x, len(self._products))
        self._squares = self._retain * self._squares + x.T @ x
        self._products = self._retain * self._products + x.T @ (rates - 0.5)

    def state_dict(self) -> dict[str, Any]:
        """Return the sums."""
        return {"squares": self._squares.tolist(), "products": self._products.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._products = np.array(state["products"], np.float64)
        self._squares = np.array(state["squares"], np.float64).reshape(len(self._products), -1)


class Logistic:
    """A Gaussian belief over weights w of ``sigmoid(w . x)``, moved step by step (ours).

    Each step first lets the precision fall back towards that of the prior N(0, SPREAD^2) by ``1 - retain``: the mean
    stays and the belief widens, as the policy has changed. Then it takes the Laplace approximation at the rollouts.
    """

    def __init__(self, retain: float) -> None:
        self._retain = retain
        self._mean: FloatArray = np.zeros(0)
        self._precision: FloatArray = np.zeros((0, 0))

    def rates(self, x: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
        """Return the mean prediction (P,) over ``draws`` weights from the belief, at inputs (P, K)."""
        mean, precision = self._belief(x)
        noise = rng.standard_normal((len(mean), draws))
        weights = mean[:, None] + np.linalg.solve(np.linalg.cholesky(precision).T, noise)
        rates: FloatArray = _sigmoid(x @ weights).mean(1)
        return rates

    def learn(self, x: FloatArray, successes: FloatArray, trials: FloatArray) -> None:
        """Take a step's inputs (P, K), successes and trials (P,), fractions allowed. Complexity: O(P K^2 + K^3)."""
        start, before = self._belief(x)
        before = self._retain * before + (1 - self._retain) * np.eye(len(start)) / SPREAD**2
        mean = start
        for _ in range(100):
            chance = _sigmoid(x @ mean)
            slope = x.T @ (successes - trials * chance) - before @ (mean - start)
            curvature = before + (x * (trials * chance * (1 - chance))[:, None]).T @ x
            move = np.linalg.solve(curvature, slope)
            largest = float(np.abs(x @ move).max(initial=0.0))
            # The curvature changes little within one logit, so steps this short always climb.
            mean = mean + move / max(1.0, largest)
            if largest < 1e-9:
                break
        self._mean, self._precision = mean, curvature

    def _belief(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not len(self._mean):
            return np.zeros(x.shape[1]), np.eye(x.shape[1]) / SPREAD**2
        _check(x, len(self._mean))
        return self._mean, self._precision

    def state_dict(self) -> dict[str, Any]:
        """Return mean and precision."""
        return {"mean": self._mean.tolist(), "precision": self._precision.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._mean = np.array(state["mean"], np.float64)
        self._precision = np.array(state["precision"], np.float64).reshape(len(self._mean), -1)


class Record:
    """Successes and trials of each prompt; both fade by ``retain`` at every finished step, visited or not (ours)."""

    def __init__(self, retain: float) -> None:
        self._retain = retain
        self._steps = 0
        self._seen = Memory(successes=0.0, trials=0.0, step=0)

    def blended(self, ids: IntArray, shared: FloatArray, strength: float) -> FloatArray:
        """Return the posterior mean (P,) of each success rate; the prior is ``strength`` trials at ``shared`` (P,)."""
        left = self._left(ids)
        successes, trials = left * self._seen.get("successes", ids), left * self._seen.get("trials", ids)
        blended: FloatArray = (strength * shared + successes) / (strength + trials)
        return blended

    def learn(self, feedback: Feedback) -> None:
        """Take note of a finished step."""
        self._steps += 1
        ids = feedback.prompts.ids
        left = self._left(ids)
        for name, new in (("successes", feedback.successes), ("trials", feedback.valid)):
            self._seen.set(name, ids, left * self._seen.get(name, ids) + new)
        self._seen.set("step", ids, self._steps)

    def _left(self, ids: IntArray) -> FloatArray:
        left: FloatArray = self._retain ** (self._steps - self._seen.get("step", ids))
        return left

    def state_dict(self) -> dict[str, Any]:
        """Return the record and its clock."""
        return {"seen": self._seen.state_dict(), "steps": self._steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._seen.load_state_dict(state["seen"])
        self._steps = state["steps"]


def _sigmoid(logits: FloatArray) -> FloatArray:
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def _check(x: FloatArray, size: int) -> None:
    if x.shape[1] != size:
        raise ConfigError(
            f"prompts come with {x.shape[1] - 1} features after compression, earlier steps had {size - 1}: give "
            "begin(..., features=...) of the same width in every step, or in none"
        )
