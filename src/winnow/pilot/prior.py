"""How pass rates are spread over prompts: one or two Beta distributions, fitted by maximum likelihood.

A pilot of k rollouts says without bias how groups of up to k behave, and no more: for larger ones no unbiased
estimator exists. What is told about them here rests on this model (beta-binomial, an empirical-Bayes prior).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import betainc, betaln, digamma, expit, logsumexp, softmax

Floats = npt.NDArray[np.float64]

FEWEST_FOR_TWO = 5
"""Rollouts per prompt that two components need: they have five parameters, and k rollouts give k frequencies."""
_MEAN, _PRECISION, _WEIGHT = (-12.0, 12.0), (-4.0, 7.0), (-6.0, 6.0)
FINE, ROUGH = 1e-10, 1e-7
"""Relative change of the likelihood at which a fit, or one of many for an interval, ends."""
_STARTS = (
    ((0.15, 0.85), (2.0, 2.0)),
    ((0.02, 0.5), (2.0, 4.0)),
    ((0.98, 0.5), (2.0, 4.0)),
)


@dataclass(frozen=True)
class Prior:
    """A mixture of Beta distributions of the pass rate.

    Attributes:
        weights: (J,) shares of the components, summing to 1.
        a: (J,) first parameters.
        b: (J,) second parameters.
    """

    weights: Floats
    a: Floats
    b: Floats

    @property
    def mean(self) -> float:
        """The mean pass rate."""
        return float(self.weights @ (self.a / (self.a + self.b)))

    def ties(self, n: int) -> float:
        """Return the probability that n rollouts of a prompt drawn from the prior all pass or all fail."""
        base = betaln(self.a, self.b)
        same = np.exp(betaln(self.a + n, self.b) - base) + np.exp(betaln(self.a, self.b + n) - base)
        return float(min(1.0, self.weights @ same))

    def above(self, rate: float) -> float:
        """Return the probability that the pass rate is above ``rate``."""
        return float(self.weights @ (1.0 - betainc(self.a, self.b, rate)))

    def posterior(self, passed: int, scorable: int) -> Prior:
        """Return the distribution for a prompt of whose ``scorable`` rollouts ``passed`` passed."""
        logs = np.log(self.weights) + _log_odds(self.a, self.b, np.array([passed]), np.array([scorable]))[:, 0]
        return Prior(softmax(logs), self.a + passed, self.b + scorable - passed)

    def as_dict(self) -> dict[str, list[float]]:
        """Return plain values for JSON."""
        return {"weights": self.weights.tolist(), "a": self.a.tolist(), "b": self.b.tolist()}


def fit(passed: npt.ArrayLike, scorable: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> Prior:
    """Fit one Beta distribution, or two where Akaike's information criterion prefers them.

    Equal cells are counted once, so the cost is a few milliseconds whatever the number of prompts.

    Args:
        passed: (C,) rollouts that passed.
        scorable: (C,) rollouts that could be scored; cells with none say nothing.
        counts: (C,) prompts with these numbers; None: one each.

    Raises:
        ValueError: no prompt has two scorable rollouts: a spread cannot be told from single draws.
    """
    c, s, w = _cells(passed, scorable, counts)
    if not len(s) or s.max() < 2:
        raise ValueError("a prior needs prompts with at least two scorable rollouts")
    rate = float(np.clip((w @ c) / (w @ s), 0.01, 0.99))
    best, loss = _descend(_pack([rate], [2.0]), c, s, w)
    if s.max() >= FEWEST_FOR_TWO:
        tries = [_descend(_pack(means, precisions), c, s, w) for means, precisions in _STARTS]
        two, two_loss = min(tries, key=lambda found: found[1])
        # Akaike: each of the three more parameters has to gain one nat. What is asked for is a prediction, and pass
        # rates of real data are no Beta distribution, so the stricter criteria would keep too stiff a curve.
        if two_loss + 3 < loss:
            best = two
    return _unpack(best)


def refit(prior: Prior, passed: npt.ArrayLike, scorable: npt.ArrayLike, counts: npt.ArrayLike) -> Prior:
    """Fit again to other counts of the same cells, with the same number of components, starting at ``prior``."""
    c, s, w = _cells(passed, scorable, counts)
    return _unpack(_descend(_pack_prior(prior), c, s, w, tolerance=ROUGH)[0])


def _cells(passed: npt.ArrayLike, scorable: npt.ArrayLike, counts: npt.ArrayLike | None) -> tuple[Floats, ...]:
    c, s = (np.asarray(values, dtype=np.float64) for values in (passed, scorable))
    if counts is None:
        (c, s), counts = np.unique([c, s], axis=1, return_counts=True)
    w = np.asarray(counts, dtype=np.float64)
    used = (s > 0) & (w > 0)
    return c[used], s[used], w[used]


def _log_odds(a: Floats, b: Floats, c: npt.NDArray[Any], s: npt.NDArray[Any]) -> Floats:
    """Return (J, C) the log-probability of each cell under each component, without the binomial coefficient."""
    found: Floats = betaln(a[:, None] + c, b[:, None] + s - c) - betaln(a, b)[:, None]
    return found


def _descend(start: Floats, c: Floats, s: Floats, w: Floats, tolerance: float = FINE) -> tuple[Floats, float]:
    size = (len(start) + 1) // 3
    bounds = [_MEAN] * size + [_PRECISION] * size + [_WEIGHT] * (size - 1)
    low, high = np.array(bounds).T
    found = minimize(
        _loss,
        np.clip(start, low, high),
        args=(c, s, w),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": tolerance},
    )
    return np.asarray(found.x, dtype=np.float64), float(found.fun)


def _loss(x: Floats, c: Floats, s: Floats, w: Floats) -> tuple[float, Floats]:
    """Return the negative log-likelihood without constants, and its gradient."""
    prior = _unpack(x)
    a, b, size = prior.a[:, None], prior.b[:, None], len(prior.a)
    joint = np.log(prior.weights)[:, None] + _log_odds(prior.a, prior.b, c, s)
    total = logsumexp(joint, axis=0)
    owned = w * np.exp(joint - total)
    both = digamma(a + b) - digamma(a + b + s)
    by_a = (owned * (digamma(a + c) - digamma(a) + both)).sum(axis=1)
    by_b = (owned * (digamma(b + s - c) - digamma(b) + both)).sum(axis=1)
    means = prior.a / (prior.a + prior.b)
    by_mean = (by_a - by_b) * (prior.a + prior.b) * means * (1 - means)
    by_precision = by_a * prior.a + by_b * prior.b
    by_weight = (owned.sum(axis=1) - prior.weights * w.sum())[: size - 1]
    return -float(w @ total), -np.concatenate([by_mean, by_precision, by_weight])


def _pack(means: Any, precisions: Any) -> Floats:
    m, p = np.asarray(means, dtype=np.float64), np.asarray(precisions, dtype=np.float64)
    return np.concatenate([np.log(m / (1 - m)), np.log(p), np.zeros(len(m) - 1)])


def _pack_prior(prior: Prior) -> Floats:
    packed = np.concatenate([np.log(prior.a / prior.b), np.log(prior.a + prior.b)])
    return np.concatenate([packed, np.log(prior.weights[:-1] / prior.weights[-1])])


def _unpack(x: Floats) -> Prior:
    size = (len(x) + 1) // 3
    means, precisions = expit(x[:size]), np.exp(x[size : 2 * size])
    weights: Floats = softmax(np.append(x[2 * size :], 0.0))
    return Prior(weights, means * precisions, (1 - means) * precisions)
