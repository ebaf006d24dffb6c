"""What is counted of a replayed step, and the figures that sums over steps give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from winnow.batch import TrainBatch
from winnow.groups import FloatArray, IntArray

if TYPE_CHECKING:
    from winnow.compare.costs import CostModel

COUNTED = (
    *(
        "steps",
        "windows",
        "seen",
        "groups",
        "no_signal",
        "rollouts",
        "further",
        "unscorable",
        "tokens",
        "rows",
        "trained_tokens",
    ),
    *("kept", "waves", "advantage", "contrast", "spread", "plain", "sigma", "judged_groups", "judged_rollouts"),
    *("drgrpo", "rloo"),
)
"""Sums over steps, in the order of a vector of them."""

FIGURES = {
    "no_signal": "share of groups whose outcomes are all equal",
    "rollouts": "rollouts generated per step",
    "tokens": "tokens generated per step",
    "rows": "rows trained per step (those with an advantage)",
    "trained_tokens": "their tokens per step",
    "advantage": "sum of |advantage| x weight per step",
    "effective": "effective rows per step: sum over groups of rows kept x 4 Var(outcome)",
    "per_1000": "effective rows per 1,000 rollouts generated",
    "groups_per_1000": "groups with signal per 1,000 rollouts generated",
    "drgrpo": "variance of Dr.GRPO's estimator, mean over prompts, in units of Var(score)",
    "rloo": "variance of RLOO's estimator, likewise",
    "bound": "gradient-norm bound: mean over rollouts generated of sigma = sqrt(4p(1-p)), in units of the score's norm",
    "eta": "mean of sigma^2 over rollouts, divided by its mean over prompts (VIGOR's eta; 1 for equal groups)",
    "waves": "waves of requests per step",
    "further": "share of rollouts beyond those recorded",
    "seen": "prompts used up per step",
    "seconds": "seconds per step under the cost model",
    "per_second": "effective rows per second",
    "groups_per_second": "groups with signal per second",
}
"""What `figures` returns, in words."""


def count(
    batch: TrainBatch, owner: IntArray, outcome: FloatArray, spread: FloatArray, sigma: FloatArray, further: int
) -> FloatArray:
    """Return the sums of one step, see `COUNTED`, with 0 for ``steps`` (a part of a full step counts as a part).

    Args:
        batch: what the step left.
        owner: int64 (N,) candidate of each rollout in the order told.
        outcome: float64 (N,) its outcome between 0 and 1, NaN where unscorable.
        spread: float64 (P,) of the candidates, see `winnow.replay.belief.Belief`.
        sigma: float64 (P,) likewise.
        further: rollouts beyond the recorded ones.

    The estimator variances are VIP's (arXiv 2602.01601, theorems 5.1 and 5.2) with n the rollouts generated for the
    prompt: Dr.GRPO ``4p(1-p) (n-1)/n^2``, RLOO ``4p(1-p)/(n-1)``. They hold for independent rollouts; a recipe that
    keeps some of them for their rewards has another variance, which they do not describe. Groups of one are left out.
    """
    ledger, n = batch.ledger, batch.counts.astype(np.float64)
    judged = np.isfinite(spread) & (n > 1)
    a, k = spread[judged], n[judged]
    return np.array(
        [
            *(0, 1, batch.visited, ledger.groups, ledger.no_signal_groups, ledger.rollouts, further, ledger.unscorable),
            *(ledger.tokens, ledger.trained, ledger.trained_tokens, batch.kept_rows, ledger.waves),
            float(np.abs(batch.advantages * batch.weights).sum()),
            _contrast(owner[batch.rows], outcome[batch.rows], len(n)),
            *(float(k @ a), float(a.sum()), float(k @ sigma[judged]), len(k), float(k.sum())),
            *(float((a * (k - 1) / k**2).sum()), float((a / (k - 1)).sum())),
        ]
    )


def _contrast(owner: IntArray, outcome: FloatArray, prompts: int) -> float:
    """Return the sum over prompts of ``rows x 4 Var(outcome)`` over kept rows: the rows of a balanced batch as good.

    A gradient that compares c passes with f failures has the variance of ``1/c + 1/f``, so ``4cf/(c+f)`` rows, half of
    them passes, would do the same; its expectation under uniform groups is ``(n-1) 4p(1-p)``, the inverse of VIP's RLOO
    variance. Ours.
    """
    size = np.bincount(owner, minlength=prompts)
    total = np.bincount(owner, weights=outcome, minlength=prompts)
    squares = np.bincount(owner, weights=outcome * outcome, minlength=prompts)
    return float(4 * (squares - total * total / np.maximum(size, 1)).sum())


def figures(sums: FloatArray, cost: CostModel | None = None) -> dict[str, float]:
    """Return the figures of `FIGURES` from sums over steps; NaN where nothing was counted, or without a cost model."""
    of: Mapping[str, float] = dict(zip(COUNTED, sums.tolist(), strict=True))
    steps, rollouts, groups = of["steps"], of["rollouts"], of["groups"]
    spread, plain = _ratio(of["spread"], of["judged_rollouts"]), _ratio(of["plain"], of["judged_groups"])
    per_step = {
        "prompts": _ratio(groups, steps),
        "rollouts": _ratio(rollouts, steps),
        "rows": _ratio(of["rows"], steps),
    }
    seconds = float(cost.cumulative([per_step])[-1]) if cost is not None else float("nan")
    return {
        "no_signal": _ratio(of["no_signal"], groups),
        "rollouts": _ratio(rollouts, steps),
        "tokens": _ratio(of["tokens"], steps),
        "rows": _ratio(of["rows"], steps),
        "trained_tokens": _ratio(of["trained_tokens"], steps),
        "advantage": _ratio(of["advantage"], steps),
        "effective": _ratio(of["contrast"], steps),
        "per_1000": _ratio(1000 * of["contrast"], rollouts),
        "groups_per_1000": _ratio(1000 * (groups - of["no_signal"]), rollouts),
        "drgrpo": _ratio(of["drgrpo"], of["judged_groups"]),
        "rloo": _ratio(of["rloo"], of["judged_groups"]),
        "bound": _ratio(of["sigma"], of["judged_rollouts"]),
        "eta": _ratio(spread, plain),
        "waves": _ratio(of["waves"], of["windows"]),
        "further": _ratio(of["further"], rollouts),
        "seen": _ratio(of["seen"], steps),
        "seconds": seconds,
        "per_second": _ratio(_ratio(of["contrast"], steps), seconds),
        "groups_per_second": _ratio(_ratio(groups - of["no_signal"], steps), seconds),
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
