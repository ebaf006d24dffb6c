"""The numbers of a step, under ``winnow/`` names, and TRL's own names set to what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from winnow.groups import FloatArray
from winnow.host.metrics import mean, step_metrics
from winnow.host.trl.draw import Drawn
from winnow.host.trl.kept import Kept

Log = dict[str, list[Any]]


def describe(drawn: Drawn, kept: Kept) -> dict[str, float]:
    """Return the numbers of a step. Padding and surplus rollouts enter none but their own counts."""
    return step_metrics(drawn.batch, drawn.owners, drawn.rewards, drawn.outcomes) | {
        "winnow/surplus_rollouts": drawn.surplus,
        "winnow/padding_rows": kept.padding,
    }


def generated(drawn: Drawn) -> dict[str, float]:
    """Return TRL's ``completions/*`` over every rollout of the step, not wave by wave."""
    lengths, ended = drawn.lengths.astype(np.float64), drawn.lengths[drawn.finished].astype(np.float64)
    ended = ended if len(ended) else np.zeros(1)
    return {
        "completions/mean_length": float(lengths.mean()),
        "completions/min_length": float(lengths.min()),
        "completions/max_length": float(lengths.max()),
        "completions/clipped_ratio": float(1 - drawn.finished.mean()),
        "completions/mean_terminated_length": float(ended.mean()),
        "completions/min_terminated_length": float(ended.min()),
        "completions/max_terminated_length": float(ended.max()),
    }


def rewarded(drawn: Drawn, names: Sequence[str]) -> dict[str, float]:
    """Return TRL's reward metrics over every rollout of the step: a curve over kept rows could not be read."""
    metrics = {"reward": mean(drawn.rewards), "reward_std": _std(drawn.rewards)}
    for name, values in zip(names, drawn.parts.T, strict=True):
        metrics |= {f"rewards/{name}/mean": mean(values), f"rewards/{name}/std": _std(values)}
    signal = drawn.batch.signal[drawn.batch.counts > 0]
    return metrics | {"frac_reward_zero_std": float(1 - signal.mean())}


def replace_since(log: Log, before: Mapping[str, int], values: Mapping[str, float]) -> None:
    """Put one value in place of what was logged under its name since ``before`` (lengths of the lists)."""
    for name, value in values.items():
        del log[name][before.get(name, 0) :]
        log[name].append(value)


def without_padding(tables: Mapping[str, Any], kept: Kept) -> None:
    """Correct the newest rows of TRL's table of completions: the true advantages, and no padding.

    Args:
        tables: TRL's logs: sequences (deques) by name, or such mappings.
        kept: the rows, in the order in which TRL has just logged them.
    """
    for name, table in tables.items():
        if isinstance(table, Mapping):
            without_padding(table, kept)
        elif len(table):
            count = min(len(table), len(kept.all_real))
            newest = [table.pop() for _ in range(count)][::-1]
            values = kept.all_advantages[-count:].tolist() if name == "advantages" else newest
            table.extend(value for value, real in zip(values, kept.all_real[-count:], strict=True) if real)


def _std(values: FloatArray) -> float:
    """Return the sample standard deviation, as TRL logs it."""
    finite = values[np.isfinite(values)]
    return float(finite.std(ddof=1)) if len(finite) > 1 else float("nan")
