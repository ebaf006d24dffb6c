"""The recipe `winnow` against tuned contenders: cost to a target accuracy, docs/winnow-recipe.md.

    python benchmarks/final.py run --out runs/final
    python benchmarks/final.py run --out runs/final --model MODEL --svamp SVAMP.json --tasks sums svamp
    python benchmarks/final.py table --out runs/final

For every task: each contender's sizes and learning rates are tried on one seed, its best four again on another, and the
best mean held-out accuracy wins; all tuning runs are as long as the runs that count. Those then run on seeds of their
own. ``run`` may be stopped at any moment and given again: finished runs are kept. MODEL is the folder that ``winnow
model smollm2 MODEL`` wrote. ``table`` writes docs/final.md, its figure and benchmarks/results/final.json from whatever
is finished; for the tasks of the language model it takes the same ``--model`` and ``--svamp``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common import reported
from final_plan import (
    CONTENDERS,
    FINALISTS,
    TUNING_SEEDS,
    Bench,
    again,
    benches,
    best,
    entered,
    finals,
    size_of,
    tuning,
)
from winnow.compare.leaderboard import Outcome, run_cells
from winnow.compare.leaderboard.plan import Cell
from winnow.errors import ConfigError, unknown

RESULTS = Path("benchmarks/results/final.json")
PAGE = Path("docs/final.md")


class Lines:
    """Prints one line per run that ends."""

    def __init__(self, total: int) -> None:
        self._over, self._total = 0, total

    def __call__(self, outcome: Outcome) -> None:
        """Print the line of a run."""
        self._over += 1
        if outcome.kept:
            return
        cell, record = outcome.cell, outcome.record
        said = record["error"] or f"accuracy {record['curve']['accuracy'][-1]:.3f}"
        print(
            f"{self._over}/{self._total} {cell.stage} {cell.task}: {cell.recipe} {size_of(cell) or ''} "
            f"rate {cell.lr:g}, seed {cell.seed}: {said} ({outcome.seconds:.0f} s)",
            flush=True,
        )


def judged(cells: Sequence[Cell], out: Path, jobs: int) -> list[tuple[Cell, float]]:
    """Run tuning cells and return each with its final accuracy; a run that failed counts as 0."""
    found = run_cells(cells, out, jobs=jobs, retry=True, report=Lines(len(cells)))
    by_name = {outcome.cell.name: outcome.record for outcome in found}
    return [(cell, _last(by_name[cell.name])) for cell in cells]


def _last(record: Mapping[str, Any]) -> float:
    return 0.0 if record["error"] else float(record["curve"]["accuracy"][-1])


def tuned(label: str, task: str, bench: Bench, out: Path, jobs: int) -> dict[str, Any]:
    """Tune one contender on one task and return what was chosen and everything that was tried."""
    if like := CONTENDERS[label].like:
        other = json.loads((out / "tuned" / task / f"{like}.json").read_text(encoding="utf-8"))
        return {"size": dict(CONTENDERS[label].sizes[0]), "rate": other["rate"], "accuracy": None, "tried": []}
    first = judged(tuning(label, task, bench, TUNING_SEEDS[0]), out, jobs)
    if not any(score for _, score in first):
        raise ConfigError(
            f"every tuning run of {label} on {task} failed; mend what the lines above say and run it again"
        )
    chosen, tried = best(first, 1)[0], [_tried(cell, score) for cell, score in first]
    if bench.second:
        leading = best(first, FINALISTS)
        second = judged([again(cell, task, bench, TUNING_SEEDS[1]) for cell, _ in leading], out, jobs)
        means = [(cell, (score + other) / 2) for (cell, score), (_, other) in zip(leading, second, strict=True)]
        tried += [_tried(cell, score) for cell, score in second]
        chosen = best(means, 1)[0]
    return {"size": size_of(chosen[0]), "rate": chosen[0].lr, "accuracy": chosen[1], "tried": tried}


def _tried(cell: Cell, score: float) -> dict[str, Any]:
    return {"size": size_of(cell), "rate": cell.lr, "seed": cell.seed, "accuracy": score}


def run(
    names: Sequence[str], labels: Sequence[str], found: Mapping[str, Bench], out: Path, jobs: int, only: str
) -> None:
    """Tune and run."""
    out.mkdir(parents=True, exist_ok=True)
    for task in names:
        bench, chosen = found[task], {}
        for label in entered(labels, task, bench):
            result = tuned(label, task, bench, out, jobs)
            path = out / "tuned" / task / f"{label}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            chosen[label] = (result["size"], result["rate"])
            print(f"{task}: {label} takes {result['size']} at {result['rate']:g}", flush=True)
        if only == "tune":
            continue
        cells = list(finals(chosen, task, bench))
        run_cells(cells, out, jobs=jobs, retry=True, report=Lines(len(cells)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs, page = commands.add_parser("run"), commands.add_parser("table")
    for command in (runs, page):
        command.add_argument("--out", type=Path, default=Path("runs/final"))
        command.add_argument("--model", type=Path, help="folder of SmolLM2, for the tasks sums and svamp")
        command.add_argument("--svamp", type=Path, help="SVAMP.json")
    runs.add_argument("--tasks", nargs="+", default=[], help="default: all that can be run")
    runs.add_argument("--recipes", nargs="+", default=list(CONTENDERS))
    runs.add_argument("--jobs", type=int, default=2)
    runs.add_argument("--only", choices=("all", "tune"), default="all")
    page.add_argument("--json", type=Path, default=RESULTS)
    page.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    with reported():
        for path in (given.model, given.svamp):
            if path is not None and not path.exists():
                raise ConfigError(f"{path} does not exist")
        if given.command == "table" and not (given.out / "tuned").is_dir():
            raise ConfigError(f"{given.out} holds no runs of `final.py run`: give its folder with --out")
        found = benches(given.model, given.svamp, given.out / "sums.jsonl")
        for task in given.tasks if given.command == "run" else ():
            if task not in found:
                raise unknown("task (sums and svamp need --model and --svamp)", task, found)
        if given.command == "run" and given.jobs < 1:
            raise ConfigError(f"--jobs {given.jobs}: use 1 or more")
        if given.command == "run":
            run(given.tasks or list(found), given.recipes, found, given.out, given.jobs, given.only)
        else:
            from final_table import write

            write(given.out, found, given.json, given.page)


if __name__ == "__main__":
    main()
