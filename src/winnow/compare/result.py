"""Finished runs reduced to a table: cost to the target in four currencies, final accuracy, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.compare.costs import REGIMES, CostModel
from winnow.compare.statistics import Estimate, bootstrap, mean, median, paired_difference, to_target
from winnow.errors import ConfigError, DataError
from winnow.report.run import Floats, Run, number

CURRENCIES = ("rollouts", "rows", "tokens", "seconds")
GRID = 60
CENSORING = "costs are medians over seeds; a seed that never reaches the target counts as more than its budget"


@dataclass(frozen=True)
class Curve:
    """One run at its evaluations.

    Attributes:
        seed: of the run.
        accuracy: (E,) held-out accuracy.
        spent: what was spent by then, (E,) for each of `CURRENCIES`.
        stopped: what ended the run.
    """

    seed: int
    accuracy: Floats
    spent: Mapping[str, Floats]
    stopped: str = ""

    @classmethod
    def of(cls, run: Run, cost: CostModel) -> Curve:
        """Read the curve of a run, its seconds under ``cost``.

        Raises:
            DataError: the run holds no evaluation.
        """
        charged = cost.cumulative(list(run.steps))
        places = [at for at, step in enumerate(run.steps) if number(step.get("eval/accuracy")) is not None]
        if not places:
            raise DataError(f"{run.path}: no evaluation in metrics.jsonl; compare needs eval_prompts above 0")
        spent = {
            name: np.array([number(run.steps[at].get(f"total/{name}")) for at in places], dtype=np.float64)
            for name in CURRENCIES[:-1]
        }
        spent["seconds"] = charged[places]
        accuracy = np.array([run.steps[at]["eval/accuracy"] for at in places], dtype=np.float64)
        return cls(int(run.summary.get("seed", 0)), accuracy, spent, str(run.summary.get("stopped", "")))


@dataclass(frozen=True)
class ArmResult:
    """What one arm reached.

    Attributes:
        label: of the arm.
        curves: one per finished seed, by seed.
        reach: cost to the target by currency; the median over seeds, infinite where censored.
        final: mean accuracy at the end of the budget.
        gain: mean of the paired differences of final accuracy to the first arm.
        failed: seeds that a safety limit stopped; they enter no number.
    """

    label: str
    curves: tuple[Curve, ...]
    reach: Mapping[str, Estimate]
    final: Estimate
    gain: Estimate
    failed: int = 0

    def average(self, currency: str) -> tuple[Floats, Floats]:
        """Return a grid (G,) of the currency up to where every seed still ran, and curves (S, G) on it."""
        end = min(float(curve.spent[currency][-1]) for curve in self.curves)
        grid = np.linspace(0.0, end, GRID)
        return grid, np.stack([np.interp(grid, curve.spent[currency], curve.accuracy) for curve in self.curves])


@dataclass(frozen=True)
class Comparison:
    """All arms, the target they were held to and the price of their seconds."""

    arms: tuple[ArmResult, ...]
    target: float
    automatic: bool
    cost: CostModel
    regimes: Mapping[str, Mapping[str, Estimate]]

    def as_dict(self) -> dict[str, Any]:
        """Return everything the table and the figures show, for ``compare.json``."""
        return {
            "target": self.target,
            "target_rule": "best mean accuracy of the first recipe" if self.automatic else "given",
            "cost": {"name": self.cost.name, "note": self.cost.note},
            "censoring": CENSORING,
            "arms": [
                {
                    "label": arm.label,
                    "seeds": [curve.seed for curve in arm.curves],
                    "failed": arm.failed,
                    "to_target": {name: estimate.as_dict() for name, estimate in arm.reach.items()},
                    "seconds_to_target": {
                        name: estimates[arm.label].as_dict() for name, estimates in self.regimes.items()
                    },
                    "final_accuracy": arm.final.as_dict(),
                    "gain_over_first": arm.gain.as_dict(),
                    "curves": [
                        {
                            "seed": curve.seed,
                            "accuracy": curve.accuracy.tolist(),
                            **{name: _plain(values) for name, values in curve.spent.items()},
                        }
                        for curve in arm.curves
                    ],
                }
                for arm in self.arms
            ],
        }


def compare_runs(
    runs: Mapping[str, Sequence[Run]],
    *,
    target: float | None = None,
    cost: CostModel = REGIMES["measured"],
    failed: Mapping[str, int] | None = None,
) -> Comparison:
    """Reduce the finished runs of each arm.

    Args:
        runs: label -> runs, one per seed; the first label is the baseline.
        target: accuracy to reach; None takes the highest point of the first arm's mean curve over rollouts.
        cost: the price of seconds. The three named regimes are worked out besides, from the same runs.
        failed: label -> seeds that did not finish.

    Raises:
        ConfigError: an arm has no finished run.
        DataError: a run holds no evaluation.
    """
    empty = [label for label, found in runs.items() if not found]
    if empty:
        raise ConfigError(f"no finished run of {', '.join(empty)}: nothing to compare")
    curves = {label: [Curve.of(run, cost) for run in found] for label, found in runs.items()}
    aim = _best(next(iter(curves.values()))) if target is None else target
    regimes = {
        name: {label: _reach([Curve.of(run, model) for run in found], aim, "seconds") for label, found in runs.items()}
        for name, model in ({cost.name: cost} | REGIMES).items()
    }
    base = next(iter(curves.values()))
    arms = tuple(
        ArmResult(
            label,
            tuple(found),
            {name: _reach(found, aim, name) for name in CURRENCIES},
            bootstrap([float(curve.accuracy[-1]) for curve in found], mean),
            paired_difference(*_pairs(found, base)),
            (failed or {}).get(label, 0),
        )
        for label, found in curves.items()
    )
    return Comparison(arms, aim, target is None, cost, regimes)


def _reach(curves: Sequence[Curve], target: float, currency: str) -> Estimate:
    return bootstrap([to_target(curve.spent[currency], curve.accuracy, target) for curve in curves], median)


def _best(curves: Sequence[Curve]) -> float:
    """Highest mean accuracy over seeds at the evaluations of the first seed, by rollouts."""
    grid = curves[0].spent["rollouts"]
    end = min(float(curve.spent["rollouts"][-1]) for curve in curves)
    grid = grid[grid <= end]
    return float(np.mean([np.interp(grid, curve.spent["rollouts"], curve.accuracy) for curve in curves], axis=0).max())


def _pairs(ours: Sequence[Curve], base: Sequence[Curve]) -> tuple[Floats, Floats]:
    finals = {curve.seed: float(curve.accuracy[-1]) for curve in base}
    both = [curve for curve in ours if curve.seed in finals]
    return (
        np.array([float(curve.accuracy[-1]) for curve in both], dtype=np.float64),
        np.array([finals[curve.seed] for curve in both], dtype=np.float64),
    )


def _plain(values: Floats) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
