"""The numbers of one step, under the names they have in ``metrics.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from winnow.rollout import Prompt, Verdict
from winnow.train.collect import Collected, judged, record_of, rollout_id

if TYPE_CHECKING:
    from winnow.objective import UpdateStats

Floats = npt.NDArray[np.float64]


def mean(values: Iterable[float | None]) -> tuple[float | None, int]:
    """Return the mean of the finite values and how many there were; None when there are none (LOG-01)."""
    finite = [value for value in values if value is not None and np.isfinite(value)]
    return (float(np.mean(finite)) if finite else None), len(finite)


def step_metrics(collected: Collected, stats: UpdateStats) -> dict[str, Any]:
    """Return the numbers of a step: of all its rollouts, of the trained ones, and of the update.

    ``reward/all`` is over all scorable rollouts, ``reward/selected`` over those that train: selection makes
    the second one move for reasons that have nothing to do with learning. Each ``parts/NAME/mean`` and ``std``
    is over the batch; beside it, ``parts/NAME/tied`` is the share of prompts within which the component does
    not vary, since a component can vary over the batch and still teach nothing (ADV-14). Means leave out what is
    missing; what was not measured is None.
    """
    rollouts, batch = collected.rollouts, collected.batch
    verdicts = [rollout.verdict or Verdict(None) for rollout in rollouts]
    lengths = [len(rollout.ids) for rollout in rollouts]
    rewards = _floats(verdict.score for verdict in verdicts)
    outcomes = _floats(judged(verdict) for verdict in verdicts)
    owners = np.array([rollout.prompt for rollout in rollouts], dtype=np.int64)
    counts = np.asarray(batch.counts)
    reward_all, scorable = mean(rewards)
    ledger = batch.ledger
    return {
        "prompts": len(counts),
        "rollouts": len(rollouts),
        "rows": ledger.trained,
        "kept_rows": batch.kept_rows,
        "recalled_rows": len(batch.recalled.handles) if batch.recalled else 0,
        "tokens": int(sum(lengths)),
        "trained_tokens": ledger.trained_tokens,
        "waves": ledger.waves,
        "reward/all": reward_all,
        "reward/count": scorable,
        "reward/selected": mean(rewards[batch.rows])[0],
        "outcome/all": mean(outcomes)[0],
        **_signal(outcomes, owners, np.asarray(batch.signal, dtype=bool)),
        **_parts(verdicts, owners),
        "unscorable": len(rollouts) - scorable,
        "truncated": float(np.mean([rollout.finish == "length" for rollout in rollouts])) if rollouts else None,
        "length/mean": mean(lengths)[0],
        "length/max": max(lengths, default=None),
        "group/min": int(counts.min()) if counts.size else None,
        "group/max": int(counts.max()) if counts.size else None,
        "useful/rows_per_1k_tokens": 1000 * ledger.trained / sum(lengths) if sum(lengths) else None,
        **_update(stats),
        "why": batch.reason or None,
    }


def _update(stats: UpdateStats) -> dict[str, Any]:
    if stats.skipped:
        return {"skipped": 1, "nonfinite": 0, "lr": stats.lr}
    return {
        "loss": stats.loss,
        "grad_norm": stats.grad_norm,
        "lr": stats.lr,
        "clip_fraction": stats.clip_fraction,
        "ratio/mean": stats.ratio_mean,
        "ratio/max": stats.ratio_max,
        "kl": stats.kl,
        "kl_clamped": stats.kl_clamped if stats.kl is not None else None,
        "skipped": 0,
        "nonfinite": int(stats.nonfinite),
    }


def kl_outliers(collected: Collected, prompts: Sequence[Prompt], step: int, stats: UpdateStats) -> list[dict[str, Any]]:
    """Say where log-ratios to the reference were clamped: prompt, rollout, token position and value (LOSS-09)."""
    found = []
    for outlier in stats.kl_outliers:
        if outlier.row >= len(collected.batch.rows):
            continue  # a rollout of an earlier step, trained again: it has no name in this one
        rollout = collected.rollouts[int(collected.batch.rows[outlier.row])]
        prompt = prompts[rollout.prompt]
        name = rollout_id(str(step), prompt, rollout)
        found.append(
            {"prompt_id": prompt.id, "rollout_id": name, "token": outlier.token, "log_ratio": outlier.log_ratio}
        )
    return found


def _signal(outcomes: Floats, owners: npt.NDArray[np.int64], signal: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Split the prompts without signal: all of their outcomes 1 or more, all 0 or less, or tied elsewhere."""
    best, worst = _extremes(outcomes, owners, len(signal))
    dead = ~signal
    all_pass, all_fail = dead & (worst >= 1.0), dead & (best <= 0.0)
    share = {
        "no_signal": dead,
        "all_pass": all_pass,
        "all_fail": all_fail,
        "other_tie": dead & ~all_pass & ~all_fail,
    }
    return {f"signal/{name}": float(mask.mean()) for name, mask in share.items()} if len(signal) else {}


def _extremes(values: Floats, owners: npt.NDArray[np.int64], groups: int) -> tuple[Floats, Floats]:
    """Return the largest and smallest finite value of each group (G,); NaN where it has none."""
    best, worst = np.full(groups, -np.inf), np.full(groups, np.inf)
    finite = np.isfinite(values)
    np.maximum.at(best, owners[finite], values[finite])
    np.minimum.at(worst, owners[finite], values[finite])
    empty = best < worst
    best[empty] = worst[empty] = np.nan
    return best, worst


def pass_rates(collected: Collected) -> list[float]:
    """Return the mean outcome of every prompt that has a scorable rollout."""
    outcomes: dict[int, list[float]] = {}
    for rollout in collected.rollouts:
        value = judged(rollout.verdict) if rollout.verdict else None
        if value is not None and np.isfinite(value):
            outcomes.setdefault(rollout.prompt, []).append(value)
    return [float(np.mean(values)) for _, values in sorted(outcomes.items())]


def _parts(verdicts: Sequence[Verdict], owners: npt.NDArray[np.int64]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in sorted({name for verdict in verdicts for name in verdict.parts}):
        values = _floats(verdict.parts.get(name) for verdict in verdicts)
        finite = values[np.isfinite(values)]
        if not finite.size:
            continue
        best, worst = _extremes(values, owners, int(owners.max()) + 1)
        judged_groups = np.isfinite(best)
        found[f"parts/{name}/mean"] = float(finite.mean())
        found[f"parts/{name}/std"] = float(finite.std())
        found[f"parts/{name}/tied"] = float((best == worst)[judged_groups].mean())
    return found


def rollout_records(
    collected: Collected, prompts: Sequence[Prompt], step: int, *, trained_only: bool
) -> Iterator[dict[str, Any]]:
    """Yield the lines of ``rollouts.jsonl`` for a step, in the order the recipe was told about the rollouts."""
    batch = collected.batch
    advantages = dict(zip(batch.rows.tolist(), batch.advantages.tolist(), strict=True))
    weights = dict(zip(batch.rows.tolist(), batch.weights.tolist(), strict=True))
    for row, rollout in enumerate(collected.rollouts):
        if trained_only and row not in advantages:
            continue
        yield {
            **record_of(step, str(step), prompts[rollout.prompt], rollout),
            "selected": row in advantages,
            "fate": batch.fates[row],
            "advantage": advantages.get(row),
            "weight": weights.get(row),
        }


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
