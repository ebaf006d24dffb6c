"""Seconds of a step from its counts, fitted to the steps of the same leaderboard, and accuracy at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.compare.costs import CostModel
from winnow.report.run import Floats

TERMS = ("per_step", "per_wave", "per_prompt", "per_rollout", "per_row")
LEAST = 8
"""Measured runs below which no price is fitted."""


@dataclass(frozen=True)
class Price:
    """A cost model with how well it says what was measured.

    Attributes:
        model: the coefficients.
        error: mean over runs of the relative error, both ways.
        runs: how many runs it rests on.
    """

    model: CostModel
    error: float
    runs: int


def lines(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a record as `CostModel` reads them; recalled rows train like any other."""
    steps = record["steps"]
    return [
        {
            "prompts": prompts,
            "rollouts": rollouts,
            "rows": (rows or 0) + (recalled or 0),
            "waves": waves,
        }
        for prompts, rollouts, rows, recalled, waves in zip(
            *(steps[name] for name in ("prompts", "rollouts", "rows", "recalled_rows", "waves")), strict=True
        )
    ]


def fit(records: Sequence[Mapping[str, Any]]) -> Price | None:
    """Fit seconds per step, wave, prompt, rollout and row to the processor time of the runs; None below `LEAST` runs.

    Least squares of relative errors, one equation per run (its mean step), no coefficient below 0: of all subsets of
    the five terms, the best solution without a negative coefficient.
    """
    rows = [row for record in records if (row := _mean_step(record)) is not None]
    if len(rows) < LEAST:
        return None
    table = np.array(rows)
    counts_RF, seconds_R = table[:, :-1], table[:, -1]
    scaled = counts_RF / seconds_R[:, None]
    best, found = np.inf, np.zeros(len(TERMS))
    for size in range(1, len(TERMS) + 1):
        for chosen in itertools.combinations(range(len(TERMS)), size):
            part = np.linalg.lstsq(scaled[:, chosen], np.ones(len(rows)), rcond=None)[0]
            loss = float(np.square(scaled[:, chosen] @ part - 1).sum())
            if (part >= 0).all() and loss < best - 1e-12:
                best, found = loss, np.zeros(len(TERMS))
                found[list(chosen)] = part
    error = float(np.abs(scaled @ found - 1).mean())
    note = "fitted to the processor time of these runs"
    coefficients = dict(zip(TERMS, found.tolist(), strict=True))
    return Price(CostModel("fitted", **coefficients, note=note), error, len(rows))


def _mean_step(record: Mapping[str, Any]) -> list[float] | None:
    timed = [
        [1.0, step["waves"], step["prompts"], step["rollouts"], step["rows"], cpu]
        for step, cpu in zip(lines(record), record["steps"]["cpu"], strict=True)
        if cpu is not None and step["rollouts"]
    ]
    # The first step warms caches up; nothing of it repeats.
    return [float(value) for value in np.mean(timed[1:], axis=0)] if len(timed) > 1 else None


def measured(record: Mapping[str, Any]) -> float | None:
    """Return the processor seconds of a run's training; steps without a measurement count as the mean of the others."""
    cpu = record["steps"]["cpu"]
    timed = [value for value in cpu if value is not None]
    return float(np.mean(timed)) * len(cpu) if timed else None


def factors(records: Sequence[Mapping[str, Any]], model: CostModel) -> dict[str, float]:
    """Return what each recipe costs beyond its counts: the median over its runs of measured over priced seconds.

    Forks of a tree, or the arithmetic of a curriculum, are in no count. Recipes without a measured run are left out.
    """
    found: dict[str, list[float]] = {}
    for record in records:
        row = _mean_step(record)
        if row is not None:
            names = ("waves", "prompts", "rollouts", "rows")
            priced = float(model.cumulative([dict(zip(names, row[1:5], strict=True))])[-1])
            found.setdefault(record["recipe"], []).append(row[-1] / priced)
    return {recipe: float(np.median(ratios)) for recipe, ratios in found.items()}


def seconds(record: Mapping[str, Any], model: CostModel) -> Floats:
    """Return the seconds spent by each evaluation of a record, (E,)."""
    spent = np.concatenate([[0.0], model.cumulative(lines(record))])
    return spent[np.asarray(record["curve"]["step"], dtype=np.int64)]


def accuracy_at(record: Mapping[str, Any], model: CostModel, time: float) -> float:
    """Return held-out accuracy ``time`` seconds into a run, linear between evaluations; after its end, its last."""
    return float(np.interp(time, seconds(record, model), record["curve"]["accuracy"]))
