"""Optimal budgeted rejection sampling: which tokens sampled by one policy train another, and at what weight.

Functions for loops whose rollouts come from a policy other than the one that trains (a smaller actor, an old or a
quantised copy); the choice of rows that a recipe makes stays as it is. A loop that has the log-probabilities of both
policies over the vocabulary at every completion token plugs them in between sampling and loss:

    threshold = threshold_for(log_target, log_sampled, budget=0.9)
    chance = accept_probability(log_target[tokens], log_sampled[tokens], threshold)
    mask = keep_mask(chance, rng)                                             # multiply the loss mask with it
    kept = top_union_acceptance(log_target, log_sampled, threshold)           # or expected_acceptance: all tokens
    kept = kept * kappa(mask, kept)                                           # observed / expected, the correction
    weights = token_weights(log_target[tokens], log_sampled[tokens], kept, threshold)

and multiplies the token's loss with ``min(weights, c1) * min(p_ref / p_new, c2)``, without gradient. Rejected tokens
leave the loss; they are not sampled anew. The threshold, c1 and c2 are not given by the source, whose full system
(Jackpot: a distilled small actor) is not built here.

Source: Jackpot, arXiv 2602.06107. p is the target's and q the sampling policy's probability of a token, lambda the
threshold. A log-probability of -inf is a token that cannot occur.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray

STEPS = 60


def accept_probability(log_target: npt.ArrayLike, log_sampled: npt.ArrayLike, threshold: float) -> FloatArray:
    """Return ``min(1, p / (lambda q))`` for each token, any shape; 1 where q is 0 (it is never asked for)."""
    chance: FloatArray = np.exp(np.minimum(0.0, _log_ratio(log_target, log_sampled) - np.log(_positive(threshold))))
    return chance


def keep_mask(chance: npt.ArrayLike, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return True for the tokens that stay, an independent draw for each."""
    probability = np.asarray(chance, np.float64)
    return rng.random(probability.shape) < probability


def expected_acceptance(log_target: npt.ArrayLike, log_sampled: npt.ArrayLike, threshold: float) -> FloatArray:
    """Return ``Z = sum over tokens of min(q, p / lambda)``: the chance that the token sampled is accepted.

    Args:
        log_target: (..., V) log p.
        log_sampled: (..., V) log q.
        threshold: lambda > 0. At most min(p/q) accepts everything (Z = 1), from max(p/q) on Z is 1 / lambda.

    Returns:
        float64 (...).
    """
    target, sampled = np.asarray(log_target, np.float64), np.asarray(log_sampled, np.float64)
    accepted: FloatArray = np.exp(np.minimum(sampled, target - np.log(_positive(threshold)))).sum(axis=-1)
    return accepted


def top_union_acceptance(
    log_target: npt.ArrayLike, log_sampled: npt.ArrayLike, threshold: float, k: int = 20
) -> FloatArray:
    """Return Z summed over the k likeliest tokens of either policy alone, a lower bound; see `kappa`.

    Ties at the k-th place are taken in the order of `numpy.argpartition`. Complexity: O(V) per position.

    Raises:
        ConfigError: if k is below 1.
    """
    if k < 1:
        raise ConfigError(f"top_union_acceptance(k={k}): use a whole number >= 1")
    target, sampled = np.asarray(log_target, np.float64), np.asarray(log_sampled, np.float64)
    union = np.zeros(target.shape, bool)
    for logs in (target, sampled):
        best = np.argpartition(-logs, min(k, logs.shape[-1]) - 1, axis=-1)[..., :k]
        np.put_along_axis(union, best, True, axis=-1)
    accepted = np.exp(np.minimum(sampled, target - np.log(_positive(threshold))))
    summed: FloatArray = np.where(union, accepted, 0.0).sum(axis=-1)
    return summed


def kappa(kept: npt.ArrayLike, acceptance: npt.ArrayLike) -> float:
    """Return observed / expected acceptance over a batch of tokens, the factor that corrects an approximate Z.

    1 for an empty batch.
    """
    observed, expected = np.asarray(kept, np.float64), np.asarray(acceptance, np.float64)
    return float(observed.mean() / expected.mean()) if observed.size else 1.0


def token_weights(
    log_target: npt.ArrayLike, log_sampled: npt.ArrayLike, acceptance: npt.ArrayLike, threshold: float
) -> FloatArray:
    """Return ``Z max(lambda, p / q)``: p over the law of accepted tokens, so that weighted ones speak for p.

    Args:
        log_target: (T,) log p of the tokens sampled.
        log_sampled: (T,) log q of the same.
        acceptance: (T,) Z at their positions.
        threshold: lambda, that of the acceptance.
    """
    ratio: FloatArray = np.exp(_log_ratio(log_target, log_sampled))
    return np.asarray(acceptance, np.float64) * np.maximum(_positive(threshold), ratio)


def threshold_for(log_target: npt.ArrayLike, log_sampled: npt.ArrayLike, budget: float) -> float:
    """Return the lambda at which the mean of Z over all positions is ``budget``, by bisection; Z falls with lambda.

    Of the lambdas that accept everything (budget 1) the largest.

    Args:
        log_target: (..., V) log p.
        log_sampled: (..., V) log q.
        budget: share of tokens to accept, in (0, 1]. Where the target excludes sampled tokens it may be out of
            reach; then the smallest p/q above 0 is returned.

    Raises:
        ConfigError: if the budget is out of range.

    Complexity: 60 passes over both arrays.
    """
    if not 0 < budget <= 1:
        raise ConfigError(f"threshold_for(budget={budget!r}): use a share in (0, 1]")
    ratio = _log_ratio(log_target, log_sampled)
    possible = np.isfinite(np.asarray(log_sampled, np.float64))
    finite = ratio[possible & np.isfinite(ratio)]
    # Below the smallest ratio everything possible is accepted; at 1 / budget Z is the budget at most.
    low, high = float(min(finite.min(initial=0.0), 0.0)), float(-np.log(budget))
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = expected_acceptance(log_target, log_sampled, np.exp(middle)).mean() >= budget - 1e-12
        low, high = (middle, high) if enough else (low, middle)
    return float(np.exp(low))


def _log_ratio(log_target: npt.ArrayLike, log_sampled: npt.ArrayLike) -> FloatArray:
    target, sampled = np.asarray(log_target, np.float64), np.asarray(log_sampled, np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(sampled == -np.inf, np.inf, target - sampled)


def _positive(threshold: float) -> float:
    if not 0 < threshold < np.inf:
        raise ConfigError(f"threshold={threshold!r}: use a number > 0, as 1.0 or that of threshold_for")
    return threshold
