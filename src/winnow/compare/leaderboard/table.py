"""Everything a leaderboard found, read from whatever of its records exist."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from winnow.compare.leaderboard import pricing
from winnow.compare.leaderboard.plan import BASELINE, Plan, family
from winnow.compare.leaderboard.pool import read_record
from winnow.compare.leaderboard.standings import mean_ranks, standings
from winnow.compare.statistics import Estimate, paired_difference
from winnow.errors import DataError
from winnow.report.run import Floats, mean_of

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """One recipe.

    Attributes:
        recipe: its name.
        family: see `winnow.compare.leaderboard.plan.family`.
        lr: the rate chosen, None while its tuning is not finished.
        tuned: mean final accuracy of the tuning runs by rate.
        runs: (task, seed) -> record of a final run that came to its end.
        probes: task -> record of its gradients.
        errors: what stopped runs, with the number of runs it stopped.
    """

    recipe: str
    family: str
    lr: float | None
    tuned: Mapping[float, float]
    runs: Mapping[tuple[str, int], Record]
    probes: Mapping[str, Record]
    errors: Mapping[str, int]

    def mean(self, task: str, read: Callable[[Record], object]) -> float | None:
        """Return the mean of a number over the finished runs on a task; None when there is none."""
        return mean_of([read(record) for (name, _), record in self.runs.items() if name == task])[0]

    def scale(self, task: str) -> float | None:
        """Return the gradient noise scale in steps; None where it was not measured or no signal was found in it."""
        noise = self.probes.get(task, {}).get("noise") or {}
        return noise.get("scale")


@dataclass(frozen=True)
class Board:
    """All recipes, and the two ways to compare them.

    Attributes:
        plan: what was to be run.
        lines: one per recipe, in the order of the plan.
        price: the fitted cost of a step, None with too few runs.
        budget: task -> seconds at which equal time is compared.
        cpu_seconds: processor time of all records read.
        factors: recipe -> what it costs beyond the price of its counts, see `pricing.factors`.
    """

    plan: Plan
    lines: Sequence[Line]
    price: pricing.Price | None
    budget: Mapping[str, float]
    cpu_seconds: float
    factors: Mapping[str, float] = field(default_factory=dict)
    _cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def scores(self, task: str, *, timed: bool = False) -> Floats:
        """Return accuracy (R, S) by recipe and seed, at equal rollouts or, ``timed``, at equal seconds; NaN missing."""
        found = np.full((len(self.lines), self.plan.seeds), np.nan)
        for place, line in enumerate(self.lines):
            for (name, seed), record in line.runs.items():
                if name == task:
                    found[place, seed] = self._score(task, record, timed)
        return found

    def _score(self, task: str, record: Record, timed: bool) -> float:
        if not timed:
            return float(record["curve"]["accuracy"][-1])
        if self.price is None or task not in self.budget:
            return float("nan")
        return pricing.accuracy_at(
            record, self.price.model, self.budget[task] / self.factors.get(record["recipe"], 1.0)
        )

    def gains(self, task: str, *, timed: bool = False) -> list[Estimate]:
        """Return each recipe's mean difference to the baseline over the seeds both have."""
        scores = self.scores(task, timed=timed)
        base = scores[self.plan.recipes.index(BASELINE)]
        return [paired_difference(row, base) for row in scores]

    def places(self, task: str | None = None, *, timed: bool = False) -> list[Estimate]:
        """Return each recipe's rank on a task, or the mean of its ranks over all."""
        key = f"{task} {timed}"
        if key not in self._cache:
            tables = [self.scores(name, timed=timed) for name in self.plan.tasks]
            at = None if task is None else tables[self.plan.tasks.index(task)]
            self._cache[key] = mean_ranks(tables) if at is None else standings(at)
        found: list[Estimate] = self._cache[key]
        return found

    def early(self, line: Line, task: str) -> bool:
        """Return whether a recipe's runs end before the time at which recipes are compared."""
        spent = line.mean(task, self.spent)
        return spent is not None and spent < self.budget.get(task, 0.0) * (1 - 1e-9)

    def spent(self, record: Record) -> float | None:
        """Return the seconds of a whole run: the price of its counts, times the factor of its recipe."""
        if self.price is None:
            return None
        return float(pricing.seconds(record, self.price.model)[-1]) * self.factors.get(record["recipe"], 1.0)


def chosen(tuning: Mapping[float, Sequence[float]]) -> float | None:
    """Return the rate with the best mean accuracy; ties go to the smaller one; None when there is none."""
    means = {lr: float(np.mean(found)) for lr, found in tuning.items() if found}
    return min(means, key=lambda lr: (-means[lr], lr)) if means else None


def tuning(plan: Plan, folder: Path, recipe: str) -> tuple[float | None, dict[float, list[float]], list[str]]:
    """Return the rate of a recipe, the accuracies it was chosen by, and what stopped tuning runs.

    A rate at which a run failed is out. The rate is None while a run is missing, and when none is left.
    """
    found: dict[float, list[float]] = {lr: [] for lr in plan.grid}
    errors, out, missing = [], set(), False
    for cell in plan.tuning(recipe):
        record = read_record(folder, cell)
        if record is None:
            missing = True
        elif record["error"]:
            errors.append(str(record["error"]))
            out.add(cell.lr)
        else:
            found[cell.lr].append(record["curve"]["accuracy"][-1])
    kept = {lr: values for lr, values in found.items() if lr not in out}
    return (None if missing else chosen(kept)), kept, errors


def read_board(folder: Path) -> Board:
    """Read what is finished of the leaderboard in ``folder``.

    Raises:
        DataError: there is no ``plan.json`` in it.
    """
    path = folder / "plan.json"
    if not path.is_file():
        raise DataError(f"{folder} holds no plan.json: give the folder that `leaderboard.py run --out` wrote")
    plan = Plan.from_dict(json.loads(path.read_text(encoding="utf-8")))
    read: list[Record] = []
    lines = [_line(plan, folder, recipe, read) for recipe in plan.recipes]
    # Probes copy every gradient, which no other run does.
    timed = [record for record in read if record["stage"] != "probe"]
    price = pricing.fit(timed)
    factors = pricing.factors(timed, price.model) if price else {}
    cpu = float(sum(record["cpu_seconds"] for record in read))
    board = Board(plan, lines, price, {}, cpu, factors)
    return replace(board, budget=_budgets(board))


def _line(plan: Plan, folder: Path, recipe: str, read: list[Record]) -> Line:
    """Return the line of a recipe; every record of a run that came to its end is added to ``read``."""
    lr, tuned, errors = tuning(plan, folder, recipe)
    runs, probes = {}, {}
    read += [r for cell in plan.tuning(recipe) if (r := read_record(folder, cell)) and not r["error"]]
    for cell in plan.probes(recipe):
        if (record := read_record(folder, cell)) and not record["error"]:
            probes[cell.task] = record
    for cell in plan.finals(recipe, lr) if lr is not None else ():
        record = read_record(folder, cell)
        if record and record["error"]:
            errors.append(str(record["error"]))
        elif record:
            runs[cell.task, cell.seed] = record
    read += [*runs.values(), *probes.values()]
    means = {rate: float(np.mean(values)) for rate, values in tuned.items() if values}
    return Line(recipe, family(recipe), lr, means, runs, probes, {error: errors.count(error) for error in errors})


def _budgets(board: Board) -> dict[str, float]:
    """Return the time of the cheapest recipe on each task, which all reach, but at least half of the baseline's."""
    found: dict[str, float] = {}
    for task in board.plan.tasks:
        spent = {line.recipe: mean for line in board.lines if (mean := line.mean(task, board.spent)) is not None}
        if BASELINE in spent:
            found[task] = max(min(spent.values()), spent[BASELINE] / 2)
    return found
