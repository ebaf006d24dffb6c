"""The numbers of a step under ``winnow/`` names, the same in every host."""

from __future__ import annotations

import numpy as np

from winnow.batch import TrainBatch
from winnow.budget import Ledger
from winnow.groups import FloatArray, IntArray

TOTALS = {"rollouts": "rollouts", "tokens": "tokens", "trained_rows": "trained", "unscorable": "unscorable"}


def step_metrics(batch: TrainBatch, owners: IntArray, rewards: FloatArray, outcomes: FloatArray) -> dict[str, float]:
    """Return the numbers of a step, means over everything that was generated.

    Args:
        batch: what the step decided.
        owners: int64 (N,) prompt of each rollout, in the order told.
        rewards: float64 (N,), NaN for unscorable ones, which enter no mean.
        outcomes: float64 (N,) what signal is judged on, NaN for none.
    """
    ledger, counts = batch.ledger, batch.counts[batch.counts > 0]
    return {
        "winnow/rollouts": ledger.rollouts,
        "winnow/tokens": ledger.tokens,
        "winnow/kept_rows": batch.kept_rows,
        "winnow/kept_tokens": batch.kept_tokens,
        "winnow/trained_rows": ledger.trained,
        "winnow/trained_tokens": ledger.trained_tokens,
        "winnow/unscorable": ledger.unscorable,
        "winnow/gated": ledger.gated,
        "winnow/not_selected": ledger.discarded,
        "winnow/prompts": len(counts),
        "winnow/group/min": int(counts.min()),
        "winnow/group/max": int(counts.max()),
        "winnow/reward/all": mean(rewards),
        "winnow/reward/selected": mean(rewards[batch.rows]),
        "winnow/outcome/all": mean(outcomes),
        **_signal(batch, owners, outcomes),
        "winnow/waves": ledger.waves,
        "winnow/useful/rows_per_1k_tokens": 1000 * ledger.trained / max(1, ledger.tokens),
    }


def totals(ledger: Ledger) -> dict[str, float]:
    """Return what was spent since the start of the run."""
    return {f"winnow/total/{name}": getattr(ledger, field) for name, field in TOTALS.items()}


def _signal(batch: TrainBatch, owners: IntArray, outcomes: FloatArray) -> dict[str, float]:
    """Return the share of prompts without signal, and of those whose outcomes all are 1 or more, or 0 or less."""
    drawn_from = np.flatnonzero(batch.counts)
    dead = drawn_from[~batch.signal[drawn_from]]
    best = np.full(len(batch.counts), -np.inf)
    worst = np.full(len(batch.counts), np.inf)
    finite = np.isfinite(outcomes)
    np.maximum.at(best, owners[finite], outcomes[finite])
    np.minimum.at(worst, owners[finite], outcomes[finite])
    known = dead[np.isfinite(best[dead])]
    shares = {"no_signal": len(dead), "all_pass": (worst[known] >= 1).sum(), "all_fail": (best[known] <= 0).sum()}
    return {f"winnow/signal/{name}": float(count) / len(drawn_from) for name, count in shares.items()}


def mean(values: FloatArray) -> float:
    """Return the mean of the finite values, NaN if there is none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
