"""The numbers of a step, under ``winnow/`` names, and TRL's own names set to what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.groups import FloatArray
from winnow.host.trl.draw import Drawn
from winnow.host.trl.kept import Kept

Log = dict[str, list[Any]]


def describe(drawn: Drawn, kept: Kept) -> dict[str, float]:
    """Return the numbers of a step. Padding and surplus rollouts enter none but their own counts."""
    batch, ledger = drawn.batch, drawn.batch.ledger
    counts = batch.counts[batch.counts > 0]
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
        "winnow/reward/all": _mean(drawn.rewards),
        "winnow/reward/selected": _mean(drawn.rewards[batch.rows]),
        "winnow/outcome/all": _mean(drawn.outcomes),
        **_signal(drawn),
        "winnow/waves": ledger.waves,
        "winnow/useful/rows_per_1k_tokens": 1000 * ledger.trained / max(1, ledger.tokens),
        "winnow/surplus_rollouts": drawn.surplus,
        "winnow/padding_rows": kept.padding,
    }


def _signal(drawn: Drawn) -> dict[str, float]:
    """Return the share of prompts without signal, and of those whose outcomes all are 1 or more, or 0 or less."""
    drawn_from = np.flatnonzero(drawn.batch.counts)
    dead = drawn_from[~drawn.batch.signal[drawn_from]]
    best = np.full(len(drawn.batch.counts), -np.inf)
    worst = np.full(len(drawn.batch.counts), np.inf)
    finite = np.isfinite(drawn.outcomes)
    np.maximum.at(best, drawn.owners[finite], drawn.outcomes[finite])
    np.minimum.at(worst, drawn.owners[finite], drawn.outcomes[finite])
    known = dead[np.isfinite(best[dead])]
    shares = {"no_signal": len(dead), "all_pass": (worst[known] >= 1).sum(), "all_fail": (best[known] <= 0).sum()}
    return {f"winnow/signal/{name}": float(count) / len(drawn_from) for name, count in shares.items()}


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
    metrics = {"reward": _mean(drawn.rewards), "reward_std": _std(drawn.rewards)}
    for name, values in zip(names, drawn.parts.T, strict=True):
        metrics |= {f"rewards/{name}/mean": _mean(values), f"rewards/{name}/std": _std(values)}
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


def _mean(values: FloatArray) -> float:
    finite = _finite(values)
    return float(finite.mean()) if len(finite) else float("nan")


def _std(values: FloatArray) -> float:
    """Return the sample standard deviation, as TRL logs it."""
    finite = _finite(values)
    return float(finite.std(ddof=1)) if len(finite) > 1 else float("nan")


def _finite(values: FloatArray) -> npt.NDArray[np.float64]:
    return values[np.isfinite(values)]
