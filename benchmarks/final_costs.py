"""What `benchmarks/final_table.py` computes from the records of a task: cost to the target, ratios, means over tasks.

Axes: S seeds, E evaluations of a run, R resamples of the seeds. A mean curve that never reaches the target has an
infinite cost, which is known to exceed its whole budget; NaN is a cost that was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.compare.costs import REGIMES
from winnow.compare.leaderboard.pricing import lines
from winnow.compare.statistics import LEVEL, bootstrap, mean, paired_difference, to_target
from winnow.report.run import Floats

UNITS = ("rollouts", "rows", "tokens", "measured", "pods", "update-bound")
"""Counts, then seconds: processor time, and as priced by two of the regimes of ``winnow compare --cost``."""
BASELINE, RECIPE, FIXED = "grpo", "winnow", "grpo, n = 8"
BEST = "best other"
SHARE = 0.9
"""Of what the baseline gains in a whole run; there is the target."""


@dataclass(frozen=True)
class Runs:
    """The held-out curves of a contender, (S, E) each: accuracy, and by unit what was spent by each evaluation."""

    accuracy: Floats
    cost: Mapping[str, Floats]


@dataclass(frozen=True)
class Spent:
    """Cost to the target and of the whole run by unit, for the mean over all seeds and over each resample, (R,)."""

    cost: Mapping[str, float]
    budget: Mapping[str, float]
    costs: Mapping[str, Floats]
    budgets: Mapping[str, Floats]
    missed: float
    """Share of the resamples that never reach the target."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of costs with its interval; ``bound`` is the ratio of the whole budget, which an infinite one exceeds."""

    value: float
    low: float
    high: float
    bound: float


@dataclass(frozen=True)
class Quotient:
    """A ratio of costs on one task to ``other``; ``sign`` is ">" or "<" where one of the two misses the target."""

    value: float
    sign: str
    other: str


def filled(cpu: Sequence[float | None]) -> Floats:
    """Return the processor seconds of every step, (steps,); one without a measurement takes the mean of the others."""
    seconds = np.array(cpu, dtype=np.float64)
    missing = np.isnan(seconds)
    if missing.all():
        return seconds
    return np.where(missing, seconds[~missing].mean(), seconds)


def spending(record: Mapping[str, Any]) -> dict[str, Floats]:
    """Return by unit what a run had spent by each of its evaluations, (E,); nothing at the one before it."""
    steps, priced = record["steps"], lines(record)
    unknown = [None] * len(priced)
    by_step: dict[str, Floats] = {
        "rollouts": np.array(steps["rollouts"], dtype=np.float64),
        "rows": np.array([step["rows"] for step in priced], dtype=np.float64),
        "tokens": np.array(steps.get("tokens", unknown), dtype=np.float64),
        "measured": filled(steps["cpu"]),
    }
    spent = {unit: np.cumsum(values) for unit, values in by_step.items()}
    spent |= {regime: REGIMES[regime].cumulative(priced) for regime in ("pods", "update-bound")}
    at = np.asarray(record["curve"]["step"], dtype=np.int64)
    return {unit: np.concatenate([[0.0], values])[at] for unit, values in spent.items()}


def aligned(records: Sequence[Mapping[str, Any]]) -> Runs:
    """Return the curves of the runs of a contender, one per seed.

    Runs with the same number of evaluations are put together one by one. Where a recipe decides the size of its steps
    and some runs are evaluated more often, all are read, linear between evaluations, at as many equal shares of their
    rollouts as the run with the fewest evaluations has.
    """
    accuracy = [np.array(record["curve"]["accuracy"], dtype=np.float64) for record in records]
    cost = [spending(record) for record in records]
    if len({len(curve) for curve in accuracy}) > 1:
        shares = np.linspace(0, 1, min(len(curve) for curve in accuracy))
        own = [spent["rollouts"] / spent["rollouts"][-1] for spent in cost]
        accuracy = [np.interp(shares, at, curve) for at, curve in zip(own, accuracy, strict=True)]
        cost = [
            {unit: np.interp(shares, at, values) for unit, values in spent.items()}
            for at, spent in zip(own, cost, strict=True)
        ]
    return Runs(np.stack(accuracy), {unit: np.stack([spent[unit] for spent in cost]) for unit in UNITS})


def target_of(baseline: Runs) -> float:
    """Return start + `SHARE` of the gain of the mean curve; NaN where it gains nothing."""
    curve = baseline.accuracy.mean(axis=0)
    gain = curve[-1] - curve[0]
    return float(curve[0] + SHARE * gain) if gain > 0 else float("nan")


def crossings(cost: Floats, accuracy: Floats, target: float) -> Floats:
    """Return `to_target` of each row of ``cost`` and ``accuracy``, (R, E) both, as (R,)."""
    reached = accuracy >= target
    at = reached.argmax(axis=1)
    before, row = np.maximum(at - 1, 0), np.arange(len(at))
    low, high = accuracy[row, before], accuracy[row, at]
    share = (target - low) / np.where(high > low, high - low, 1.0) * (at > 0)
    found = cost[row, before] + share * (cost[row, at] - cost[row, before])
    return np.where(reached.any(axis=1), found, np.inf)


def spent(runs: Runs, target: float, draws: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Spent:
    """Return what the mean curve costs up to the target; ``draws`` (R, S) are the seeds of each resample."""
    curve, curves = runs.accuracy.mean(axis=0), runs.accuracy[draws].mean(axis=1)
    cost, budget, costs, budgets = {}, {}, {}, {}
    for unit, values in runs.cost.items():
        whole, means = values.mean(axis=0), values[draws].mean(axis=1)
        known = bool(np.isfinite(whole).all() and np.isfinite(target))
        cost[unit] = to_target(whole, curve, target) if known else float("nan")
        costs[unit] = crossings(means, curves, target) if known else np.full(len(draws), np.nan)
        budget[unit], budgets[unit] = float(whole[-1]), means[:, -1]
    missed = float(np.mean(~(curves >= target).any(axis=1))) if np.isfinite(target) else float("nan")
    return Spent(cost, budget, costs, budgets, missed)


def ratio(ours: Spent, base: Spent, unit: str) -> Ratio:
    """Return the cost of ``ours`` over that of ``base``, resampled together.

    A resample in which only ours misses the target is infinite; one in which only ``base`` does counts with the whole
    budget of ``base``, from above; one in which both do says nothing and is left out.
    """
    above, below = ours.costs[unit], base.costs[unit]
    below = np.where(np.isinf(below), np.where(np.isinf(above), np.nan, base.budgets[unit]), below)
    ratios = _over(above, below)
    ratios = np.sort(ratios[~np.isnan(ratios)])
    low, high = float("nan"), float("nan")
    if len(ratios):
        ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        low, high = (float(ratios[max(0, int(np.ceil(end * len(ratios))) - 1)]) for end in ends)
    value, bound = (
        float(_over(np.array([cost]), np.array([base.cost[unit]]))[0]) for cost in (ours.cost[unit], ours.budget[unit])
    )
    return Ratio(value, low, high, bound)


def as_dict(runs: Runs, base: Runs, spent: Mapping[str, Spent], label: str) -> dict[str, Any]:
    """Return what the JSON says of a contender of a task; ``spent`` has the baseline too."""
    ours, last = spent[label], runs.accuracy[:, -1]
    ratios = {unit: ratio(ours, spent[BASELINE], unit) for unit in UNITS}
    curve = {unit: runs.cost[unit].mean(axis=0).tolist() for unit in ("rollouts", "rows", "measured")}
    return {
        "accuracy": bootstrap(last, mean).as_dict(),
        "difference": paired_difference(last, base.accuracy[:, -1]).as_dict(),
        "cost": ours.cost,
        "budget": ours.budget,
        "missed": ours.missed,
        "ratio": {unit: [each.value, each.low, each.high] for unit, each in ratios.items()},
        "bound": {unit: each.bound for unit, each in ratios.items()},
        "curve": {"accuracy": runs.accuracy.mean(axis=0).tolist(), "seconds": curve.pop("measured"), **curve},
    }


def _over(above: Floats, below: Floats) -> Floats:
    """Return the quotient; NaN where ``below`` is nothing."""
    return above / np.where(below > 0, below, np.nan)


def quotient(task: Mapping[str, Spent], label: str, other: str, unit: str) -> Quotient | None:
    """Return the cost of a contender over that of another on one task; None where one is missing.

    NaN where neither reaches the target. `BEST` is the cheapest at that unit of those that are neither the recipe nor
    GRPO; where all of them miss the target, the one with the smallest budget.
    """
    if other == BEST:
        rest = {
            name: (each.cost[unit], each.budget[unit])
            for name, each in task.items()
            if not name.startswith((RECIPE, BASELINE))
        }
        other = min((name for name, each in rest.items() if not np.isnan(each[0])), key=lambda n: rest[n], default="")
    if label not in task or other not in task:
        return None
    above, below = task[label].cost[unit], task[other].cost[unit]
    sign = ">" if np.isinf(above) else "<" if np.isinf(below) else ""
    if np.isinf(above) and np.isinf(below):
        return Quotient(float("nan"), "", other)
    above = task[label].budget[unit] if sign == ">" else above
    below = task[other].budget[unit] if sign == "<" else below
    return Quotient(above / below if below > 0 else float("nan"), sign, other)


def over_tasks(tasks: Mapping[str, Mapping[str, Spent]], label: str, other: str, unit: str) -> dict[str, Any]:
    """Return the geometric mean over the tasks where both reach the target, and the worst task.

    ``worst`` is the task, the ratio and its sign: a miss of ``label`` is worse than any ratio. ``of`` counts the tasks
    that have both contenders.
    """
    found = {task: q for task, each in tasks.items() if (q := quotient(each, label, other, unit)) is not None}
    both = [q.value for q in found.values() if not q.sign and q.value > 0]
    known = [task for task, q in found.items() if not np.isnan(q.value)]
    worst = max(known, key=lambda task: (found[task].sign == ">", found[task].value), default=None)
    return {
        "mean": float(np.exp(np.mean(np.log(both)))) if both else float("nan"),
        "tasks": len(both),
        "of": len(found),
        "worst": None if worst is None else [worst, found[worst].value, found[worst].sign],
        "by_task": {task: [q.value, q.sign, q.other] for task, q in found.items()},
    }


def summary(tasks: Mapping[str, Mapping[str, Spent]]) -> dict[str, Any]:
    """Return `over_tasks` by contender and unit against the baseline, and of the recipe against its rivals."""
    labels = list(dict.fromkeys(label for each in tasks.values() for label in each))
    return {
        "to_grpo": {
            label: {unit: over_tasks(tasks, label, BASELINE, unit) for unit in UNITS}
            for label in labels
            if label != BASELINE
        },
        "winnow": {
            other: {unit: over_tasks(tasks, RECIPE, other, unit) for unit in UNITS} for other in (BASELINE, FIXED, BEST)
        },
    }


def plain(value: Any) -> Any:
    """Return the same for JSON: None in place of infinity and NaN."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
