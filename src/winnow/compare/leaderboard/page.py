"""``leaderboard.md``: standings, tables by task, the explanation and how it was made, from whatever is finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from winnow.compare.leaderboard import findings
from winnow.compare.leaderboard.pictures import order
from winnow.compare.leaderboard.plan import BASELINE, FEWEST, LARGEST, OFTEN, TASKS, differs, remembering
from winnow.compare.leaderboard.table import Board, Line
from winnow.compare.statistics import Estimate, bootstrap, mean

COMMANDS = "python benchmarks/leaderboard.py run --out DIR` and then `python benchmarks/leaderboard.py page --out DIR"


def render(board: Board, figures: Mapping[str, str]) -> str:
    """Return the page; ``figures`` are the paths of the pictures as the page refers to them, by name."""
    parts = [_title(board), *_lead(board), "## Standings", *_standings(board)]
    if "ranks" in figures:
        parts.append(f"![Mean rank of every recipe]({figures['ranks']})")
    parts += ["## Why", "\n".join(f"- {text}" for text in findings.sentences(board)) or "Nothing is measured yet."]
    if table := _families(board):
        parts += ["Mean gain of each family, in points:", table]
    if "explained" in figures:
        parts.append(f"![Gain against prompts with a contrast and against gradient noise]({figures['explained']})")
    for task in board.plan.tasks:
        parts += [f"## `{task}`", *_task(board, task)]
    if failed := _failed(board):
        parts += ["## What did not run", failed]
    parts += ["## Learning rates", _rates(board), "## How it was made", *_method(board)]
    return "\n\n".join(parts) + "\n"


def _title(board: Board) -> str:
    return "# Leaderboard" + (" where prompts come back" if set(board.plan.tasks) <= set(OFTEN) else "")


def _lead(board: Board) -> Iterator[str]:
    plan = board.plan
    wanted = len(plan.recipes) * len(plan.tasks) * plan.seeds
    there = sum(len(line.runs) for line in board.lines)
    yield (
        f"{len(plan.recipes)} recipes on {len(plan.tasks)} tasks, {plan.seeds} seeds, {plan.rollouts:,} generated "
        f"rollouts in every run. The page rests on {there:,} of {wanted:,} runs; the tables say how many for each "
        f"number. It is written by `{COMMANDS}`. Intervals are 95% bootstrap intervals over seeds."
    )
    idle = [line.recipe for line in board.lines if line.recipe in remembering()[1:] and line.runs]
    if idle and not set(plan.tasks) & set(OFTEN):
        names = ", ".join(f"`{name}`" for name in idle)
        yield (
            f"**No run meets a prompt twice.** What {names} remember of a prompt they cannot use here; those that do "
            f"nothing else are `{BASELINE}` under another name."
        )
    if any(len(line.runs) < len(plan.tasks) * plan.seeds and not line.errors for line in board.lines):
        yield "**Not everything has run**: recipes without a run on every task have no mean rank."
    if any(line.errors for line in board.lines):
        yield "Runs that failed are missing, and [named below](#what-did-not-run) with what they said."


def _standings(board: Board) -> Iterator[str]:
    plain, timed = board.places(), board.places(timed=True)
    head = ["place", "recipe", "answers differently", "mean rank", "at equal seconds", "rate", "runs"]
    rows = []
    for number, place in enumerate(order(board), start=1):
        line = board.lines[place]
        rows.append(
            [str(number), f"`{line.recipe}`", _differs(line), _rank(plain[place]), _rank(timed[place]), f"{line.lr:g}",
             str(len(line.runs))]
        )  # fmt: skip
    yield _table(head, rows) if rows else "No recipe has a run on every task yet."


def _task(board: Board, task: str) -> Iterator[str]:
    plain, timed = board.places(task), board.places(task, timed=True)
    gains, timed_gains = board.gains(task), board.gains(task, timed=True)
    scores, timed_scores = board.scores(task), board.scores(task, timed=True)
    head = [
        "recipe", "runs", "final accuracy", f"against `{BASELINE}`, points", "rank",
        "at equal seconds", "points", "rank", "no signal",
        "contrasts / 128", "rows / rollout", "rollouts / step", "waves", "noise scale", "seconds",
    ]  # fmt: skip
    rows = []
    for place in sorted(range(len(board.lines)), key=lambda p: (np.isnan(plain[p].value), plain[p].value)):
        line = board.lines[place]
        count = plain[place].seeds
        if not count:
            rows.append([f"`{line.recipe}`", "0", _why(line), *[""] * (len(head) - 3)])
            continue
        late = "≥ " if board.early(line, task) else ""
        rows.append(
            [
                f"`{line.recipe}`",
                str(count),
                _share(scores[place]),
                findings.points(gains[place]) if gains[place].seeds and line.recipe != BASELINE else "",
                _rank(plain[place]),
                late + _share(timed_scores[place]) if timed[place].seeds else "",
                findings.points(timed_gains[place]) if timed_gains[place].seeds and line.recipe != BASELINE else "",
                _rank(timed[place]),
                _number(line.mean(task, findings.no_signal), "{:.0%}"),
                _number(line.mean(task, findings.contrasts), "{:.1f}"),
                _number(line.mean(task, findings.rows), "{:.2f}"),
                _number(line.mean(task, findings.per_step), "{:.0f}"),
                _number(line.mean(task, findings.waves), "{:.1f}"),
                _noise(line, task),
                _number(line.mean(task, board.spent), "{:.1f}"),
            ]
        )
    if task in board.budget:
        yield (
            f"{_described(task)}. Equal seconds: {board.budget[task]:.1f} priced seconds of training; ≥ marks runs "
            "that spent their rollouts before, and could have gone on."
        )
    yield _table(head, rows)


def _families(board: Board) -> str:
    found = findings.families(board)
    tasks = board.plan.tasks
    head = ["family", "recipes", *(f"`{task}`" for task in tasks), *(f"`{task}`, equal seconds" for task in tasks)]
    rows = [
        [
            family.name,
            ", ".join(f"`{recipe}`" for recipe in family.recipes),
            *(f"{100 * family.gains[task]:+.1f}" for task in tasks),
            *(_number(family.timed[task], "{:+.1f}", 100) for task in tasks),
        ]
        for family in found
    ]
    return _table(head, rows) if rows else ""


def _failed(board: Board) -> str:
    return "\n".join(
        f"- `{line.recipe}`: {count} run{'s' if count != 1 else ''}: {_one_line(error)}"
        for line in board.lines
        for error, count in line.errors.items()
    )


def _rates(board: Board) -> str:
    grid = board.plan.grid
    rows = [
        [
            f"`{line.recipe}`",
            *(_tuned(line, lr) for lr in grid),
            f"{line.lr:g}" if line.lr is not None else "unfinished",
        ]
        for line in board.lines
        if line.tuned
    ]
    return _table(["recipe", *(f"{lr:g}" for lr in grid), "chosen"], rows) if rows else "No tuning run is finished."


def _method(board: Board) -> Iterator[str]:
    plan = board.plan
    seeds = ", ".join(map(str, plan.tuning_seeds))
    yield "; ".join(f"`{task}`: {_described(task)}" for task in plan.tasks) + "."
    yield (
        f"**Rates.** Every recipe is run at each of {', '.join(f'{lr:g}' for lr in plan.grid)} on every task with seed "
        f"{seeds}, {plan.tuning_rollouts:,} rollouts each, and takes the rate with the best mean final accuracy over "
        f"the tasks; the result uses seeds 0 to {plan.seeds - 1} only. That is {len(plan.tuning(BASELINE))} runs for "
        "every recipe, whatever it is. Tuning runs that are shorter than the final ones lean towards larger rates, for "
        f"all recipes alike; {sum(line.lr == max(plan.grid) for line in board.lines)} took the largest of the grid."
    )
    yield (
        f"**Sizes.** A step begins with {plan.step} rollouts: prompts per step are {plan.step} / n. Groups larger than "
        f"{LARGEST} are made {LARGEST}, with the share of rows kept (at least {FEWEST}). All other settings are the "
        "recipe's own. A recipe that opens further prompts in a step spends more in it and takes fewer steps: the "
        "column *rollouts / step*."
    )
    if board.price is not None:
        model = board.price.model
        yield (
            f"**Seconds.** Processor time of one thread, fitted to {board.price.runs} of these runs, mean error "
            f"{board.price.error:.1%}: {1e3 * model.per_step:.1f} ms a step, {1e3 * model.per_wave:.1f} a wave, "
            f"{1e3 * model.per_prompt:.2f} a prompt, {1e3 * model.per_rollout:.2f} a rollout, "
            f"{1e3 * model.per_row:.2f} a trained row; evaluation is not charged. What a recipe takes beyond that, as "
            f"forks of a tree do, is a factor of its own, the median over its runs ({_spread(board)}). Recipes are "
            f"compared at the seconds of the cheapest one, at least half of those of `{BASELINE}`. Costs on a GPU "
            "differ: `winnow compare --cost`."
        )
    if any(line.probes for line in board.lines):
        yield (
            f"**Noise scale.** {plan.probe_steps} steps at a rate of 0 from the shipped weights, without clipping the "
            "gradient: trace of its covariance over the square of its mean, both without bias (arXiv 1812.06162, "
            "equation 2.8). It counts the steps that would have to be averaged for signal and noise to be equal; *none "
            "found* is a signal estimated below 0. Recipes with memory are measured while it fills."
        )
    yield f"All runs of this page took {board.cpu_seconds / 3600:.1f} hours of one core."


def _spread(board: Board) -> str:
    ordered = sorted(board.factors, key=lambda recipe: board.factors[recipe])
    return ", ".join(f"`{recipe}` {board.factors[recipe]:.2f}" for recipe in dict.fromkeys((ordered[0], ordered[-1])))


def _described(task: str) -> str:
    settings = TASKS[task]
    few = settings.get("task_options.train_size")
    return f"`{settings['task']}` at spread {settings['task_options.spread']:g}" + (f", {few} prompts" if few else "")


def _differs(line: Line) -> str:
    return line.family if line.family in ("baseline", "advantage or loss") else " + ".join(differs(line.recipe))


def _why(line: Line) -> str:
    if line.lr is None and not line.errors:
        return "not tuned yet"
    return "failed: " + _one_line(next(iter(line.errors))) if line.errors else "not run yet"


def _one_line(text: str) -> str:
    short = " ".join(text.split()).replace("|", "\\|")
    return short if len(short) <= 200 else short[:199] + "…"


def _tuned(line: Line, lr: float) -> str:
    return _number(line.tuned.get(lr), "{:.3f}")


def _share(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    estimate = bootstrap(scores[np.isfinite(scores)], mean)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]" if estimate.seeds else ""


def _rank(estimate: Estimate) -> str:
    if not np.isfinite(estimate.value):
        return ""
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]"


def _noise(line: Line, task: str) -> str:
    scale = line.scale(task)
    if scale is not None:
        return f"{scale:.1f}"
    return "none found" if (line.probes.get(task, {}).get("noise") or {}).get("signal") is not None else ""


def _number(value: float | None, form: str, factor: float = 1) -> str:
    return "" if value is None or not np.isfinite(value) else form.format(factor * value)


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])
