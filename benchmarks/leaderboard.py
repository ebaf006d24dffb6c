"""All recipes on three tasks: docs/leaderboard.md, its figures and benchmarks/results/leaderboard.json.

    python benchmarks/leaderboard.py run --out runs/leaderboard
    python benchmarks/leaderboard.py page --out runs/leaderboard

``run`` may be stopped or killed at any moment and given again: finished runs are kept, those in flight are repeated. A
recipe that fails is a row with its error. ``page`` writes from whatever is finished.

``run --often`` is a board of its own for the recipes that remember prompts, on the same tasks with few prompts, to
which a run comes back; give it another folder, and ``page`` another page. It has not been run in full yet.

Time: 54 recipes took 2 h 5 min on two cores, other work beside it for half of that: 6 s for a tuning run of 2,560
rollouts evaluated twice, 10 s for a run of 3,840 evaluated four times, more for trees and rules of many waves.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from common import environment, reported
from winnow.compare.leaderboard import Outcome, Plan, run_cells
from winnow.compare.leaderboard.plan import BASELINE, OFTEN, ONCE, TASKS, names, remembering
from winnow.compare.leaderboard.table import tuning
from winnow.errors import ConfigError

RESULTS = Path("benchmarks/results/leaderboard.json")
PAGE = Path("docs/leaderboard.md")


class Lines:
    """Prints one line per run that ends, with the time that is left at this pace."""

    def __init__(self, stage: str, total: int) -> None:
        self._stage, self._total = stage, total
        self._over = self._new = 0
        self._started = time.monotonic()

    def __call__(self, outcome: Outcome) -> None:
        """Print the line of a run that was not there before."""
        self._over += 1
        if outcome.kept:
            return
        self._new += 1
        pace = (time.monotonic() - self._started) / self._new
        cell, record = outcome.cell, outcome.record
        accuracy = (record.get("curve") or {}).get("accuracy")
        told = record["error"] or (f"accuracy {accuracy[-1]:.3f}" if accuracy else "gradients measured")
        left = pace * (self._total - self._over) / 60
        print(
            f"{self._stage} {self._over}/{self._total} {cell.recipe} on {cell.task}, seed {cell.seed}, "
            f"rate {cell.lr:g}: {told} ({outcome.seconds:.0f} s; about {left:.0f} min left)",
            flush=True,
        )


def run(plan: Plan, out: Path, jobs: int, retry: bool) -> None:
    """Tune, measure gradients, run; keep what is there."""
    out.mkdir(parents=True, exist_ok=True)
    draft = out / "plan.json.part"
    draft.write_text(json.dumps(plan.as_dict(), indent=1) + "\n", encoding="utf-8")
    draft.replace(out / "plan.json")
    first = plan.tuning(BASELINE)
    run_cells(first, out, jobs=jobs, retry=retry, report=Lines(f"tuning {BASELINE}", len(first)))
    if tuning(plan, out, BASELINE)[0] is None:
        raise ConfigError(
            f"every tuning run of {BASELINE} failed, so something else than a recipe is wrong: mend it and add --retry"
        )
    cells = [cell for recipe in plan.recipes for cell in plan.tuning(recipe)]
    run_cells(cells, out, jobs=jobs, retry=retry, report=Lines("tuning", len(cells)))
    rates = {recipe: tuning(plan, out, recipe)[0] for recipe in plan.recipes}
    usable = {recipe: rate for recipe, rate in rates.items() if rate is not None}
    for recipe in rates.keys() - usable.keys():
        print(f"{recipe}: no rate left, every tuning run failed", flush=True)
    cells = [cell for recipe in usable for cell in plan.probes(recipe)]
    run_cells(cells, out, jobs=jobs, retry=retry, report=Lines("gradients", len(cells)))
    cells = list(plan.interleaved(usable))
    run_cells(cells, out, jobs=jobs, retry=retry, report=Lines("runs", len(cells)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="tune and run whatever is not finished")
    page = commands.add_parser("page", help="write page, figures and JSON from what is finished")
    for command in (runs, page):
        command.add_argument("--out", type=Path, default=Path("runs/leaderboard"))
    runs.add_argument("--recipes", nargs="+", default=[], help="default: all")
    runs.add_argument("--tasks", nargs="+", default=list(ONCE), help=", ".join(TASKS))
    runs.add_argument("--often", action="store_true", help="recipes that remember prompts, on tasks with few of them")
    runs.add_argument("--seeds", type=int, default=5)
    runs.add_argument("--jobs", type=int, default=2)
    runs.add_argument("--rollouts", type=int, default=Plan.rollouts)
    runs.add_argument("--tuning-rollouts", type=int, default=Plan.tuning_rollouts)
    runs.add_argument("--grid", type=float, nargs="+", default=list(Plan.grid), help="learning rates tried")
    runs.add_argument("--tuning-seeds", type=int, nargs="+", default=list(Plan.tuning_seeds))
    runs.add_argument("--eval-prompts", type=int, default=Plan.eval_prompts)
    runs.add_argument("--probe-steps", type=int, default=Plan.probe_steps)
    runs.add_argument("--retry", action="store_true", help="run those again that failed")
    page.add_argument("--page", type=Path, default=PAGE)
    page.add_argument("--json", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    with reported():
        if chosen.command == "run":
            recipes = remembering() if chosen.often else names(chosen.recipes)
            tasks = OFTEN if chosen.often else tuple(chosen.tasks)
            plan = Plan(
                recipes, tasks, chosen.seeds, chosen.rollouts, tuple(chosen.grid),
                chosen.tuning_rollouts, tuple(chosen.tuning_seeds), eval_prompts=chosen.eval_prompts,
                probe_steps=chosen.probe_steps,
            )  # fmt: skip
            run(plan, chosen.out, chosen.jobs, chosen.retry)
        else:
            from winnow.compare.leaderboard.publish import publish

            publish(chosen.out, chosen.page, chosen.json, environment())


if __name__ == "__main__":
    main()
