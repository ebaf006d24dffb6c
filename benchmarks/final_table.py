"""The page of `benchmarks/final.py`, its figure and the numbers behind them, from whatever is finished."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import final_costs as costs
from common import environment, local, markdown
from final_costs import BASELINE, BEST, FIXED, RECIPE, SHARE, UNITS
from final_plan import CONTENDERS, DESIGN, FINALISTS, TUNING_SEEDS, Bench, entered, finals
from winnow.compare.leaderboard.pool import read_record
from winnow.compare.statistics import resample
from winnow.report import style

RESAMPLES = 2000
TUNED = {label: each for label, each in CONTENDERS.items() if not each.like}
PAGE = Path("docs/final.md")
HEADS = {"measured": "seconds measured", "pods": "seconds, `pods`", "update-bound": "seconds, `update-bound`"}

Result = dict[str, Any]


def write(out: Path, found: Mapping[str, Bench], path: Path, page: Path = PAGE) -> None:
    """Write ``path`` and ``page``, and ``figures/`` beside the page, from what is finished below ``out``."""
    tasks: dict[str, Result] = {}
    spent, left_out = {}, []
    for task, bench in found.items():
        chosen, runs, notes = collected(out, task, bench)
        if BASELINE in runs:
            tasks[task], spent[task] = judged(task, bench, chosen, runs)
            tasks[task]["notes"] = notes
        else:
            left_out.append(f"`{task}`: " + ("; ".join(notes) or "not tuned"))
    about = environment() | {"command": " ".join(["python", *(local(word, inside=True) for word in sys.argv)])}
    kept = {task: each for task, each in spent.items() if task not in DESIGN}
    summary = {"all": costs.summary(spent), "kept": costs.summary(kept)}
    result = costs.plain({"environment": about, "tasks": tasks, "summary": summary, "left_out": left_out})
    figure = page.parent / "figures" / f"{page.stem}.png"
    if tasks:
        style.save(draw(result["tasks"]), figure)
    text = render(result, found, figure.relative_to(page.parent).as_posix())
    for target, content in ((path, json.dumps(result, allow_nan=False) + "\n"), (page, text)):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
        print(f"written to {target}")


def collected(out: Path, task: str, bench: Bench) -> tuple[dict[str, Result], dict[str, list[Result]], list[str]]:
    """Return what was chosen, the records of the seeds that all contenders have, and what is missing.

    A run that failed is no finished seed; a contender without a finished seed is left out. No records where no seed is
    common to all.
    """
    files = {label: out / "tuned" / task / f"{label}.json" for label in entered(list(CONTENDERS), task, bench)}
    chosen = {label: json.loads(file.read_text(encoding="utf-8")) for label, file in files.items() if file.is_file()}
    runs: dict[str, dict[int, Result]] = {label: {} for label in chosen}
    notes = [f"`{label}` is not tuned" for label in files if chosen and label not in chosen]
    for cell in finals({label: (each["size"], each["rate"]) for label, each in chosen.items()}, task, bench):
        record = read_record(out, cell)
        if record is not None and record["error"]:
            notes.append(f"`{cell.recipe}`, seed {cell.seed}: {' '.join(record['error'].split())[:200]}")
        elif record is not None:
            runs[cell.recipe][cell.seed] = record
    notes += [f"`{label}` has no finished seed" for label, each in runs.items() if not each]
    runs = {label: each for label, each in runs.items() if each}
    common = sorted(set.intersection(*(set(each) for each in runs.values()))) if runs else []
    for seed in sorted(set().union(*runs.values()) - set(common)):
        without = ", ".join(f"`{label}`" for label, each in runs.items() if seed not in each)
        notes.append(f"seed {seed} is not used, missing: {without}")
    return chosen, {label: [each[seed] for seed in common] for label, each in runs.items() if common}, notes


def judged(
    task: str, bench: Bench, chosen: Mapping[str, Result], runs: Mapping[str, list[Result]]
) -> tuple[Result, dict[str, costs.Spent]]:
    """Return what the JSON says of a task, and the costs of its contenders."""
    curves = {label: costs.aligned(records) for label, records in runs.items()}
    target = costs.target_of(curves[BASELINE])
    seeds = [record["seed"] for record in runs[BASELINE]]
    draws = resample(len(seeds), RESAMPLES, 0)
    spent = {label: costs.spent(each, target, draws) for label, each in curves.items()}
    contenders = {
        label: {name: chosen[label][name] for name in ("size", "rate", "tried")}
        | costs.as_dict(each, curves[BASELINE], spent, label)
        for label, each in curves.items()
    }
    settings = {name: local(value) for name, value in bench.settings.items()}
    about = {"settings": settings, "rollouts": bench.rollouts, "seeds": seeds, "target": target}
    return {**about, "design": task in DESIGN, "contenders": contenders}, spent


@style.styled
def draw(tasks: Mapping[str, Result]) -> Any:
    """Mean held-out accuracy over rollouts and over measured seconds, one row per task."""
    figure, grid = style.canvas(len(tasks), 2, size=(9.6, 0.6 + 2.5 * len(tasks)), sharey="row", squeeze=False)
    others = [name for name in TUNED if not name.startswith(RECIPE)]
    looks = {
        name: (*look, 1.3)
        for name, look in zip(others, cycle(zip(style.PALETTE, style.DASHES, strict=False)), strict=False)
    }
    looks |= {name: (style.INK, "-" if name == RECIPE else "--", 2.6) for name in TUNED if name.startswith(RECIPE)}
    shown: dict[str, Any] = {}
    for row, (task, each) in zip(grid, tasks.items(), strict=True):
        for axes, unit, label in zip(row, ("rollouts", "seconds"), ("rollouts", "processor seconds"), strict=True):
            for name in (name for name in TUNED if name in each["contenders"]):
                curve = each["contenders"][name]["curve"]
                look = dict(zip(("color", "linestyle", "linewidth"), looks[name], strict=True))
                if None not in curve[unit]:
                    (shown[name],) = axes.plot(curve[unit], curve["accuracy"], **look)
            if each["target"] is not None:
                axes.axhline(each["target"], color=style.MUTED, linewidth=0.8, linestyle=":")
            axes.set_xlabel(label)
            style.counts(axes.xaxis)
            style.percent(axes.yaxis)
        row[0].set_title(task)
        row[0].set_ylabel("held-out accuracy")
    style.legend_above(figure, list(shown.values()), list(shown))
    return figure


def render(result: Result, found: Mapping[str, Bench], figure: str) -> str:
    """Return the page."""
    tasks, summary = result["tasks"], result["summary"]
    parts = ["# The recipe winnow against tuned contenders", *_made(tasks, found)]
    if result["left_out"]:
        parts.append("Tasks without a result: " + " | ".join(result["left_out"]) + ".")
    if not tasks:
        return "\n\n".join([*parts, "No task has a finished seed of every contender yet."]) + "\n"
    parts += ["## Summary", *_summary(summary), f"![Accuracy over rollouts and over seconds]({figure})"]
    for task, each in tasks.items():
        parts += [f"## `{task}`", *_task(each, found[task])]
    return "\n\n".join(parts) + "\n"


def _made(tasks: Mapping[str, Result], found: Mapping[str, Bench]) -> Iterator[str]:
    yield (
        "Made by `python benchmarks/final.py run --out runs/final` and then `python benchmarks/final.py table --out "
        "runs/final`, both with `--model` and `--svamp` where the tasks `sums` and `svamp` are to be run. The numbers "
        "are in `benchmarks/results/final.json`, tuning runs too."
    )
    twice = ", ".join(f"`{name}`" for name in tasks if found[name].second)
    yield (
        f"**Tuning.** Every contender is run with each of its sizes and learning rates on seed {TUNING_SEEDS[0]} of "
        "each task, as long as the runs that count. "
        + (f"On {twice} the best {FINALISTS} are run again on seed {TUNING_SEEDS[1]}. " if twice else "")
        + "The best mean final accuracy wins; the result uses other seeds, from 0 on. Sizes tried: "
        + "; ".join(f"`{label}` {' / '.join(map(_size, each.sizes))}" for label, each in TUNED.items())
        + ". Tuning costs are not part of any number here."
    )
    kept = ", ".join(f"`{task}`" for task in tasks if task not in DESIGN) or "none yet"
    used = " and ".join(f"`{task}`" for task in DESIGN)
    yield f"**Tasks.** {used} were used while the recipe `{RECIPE}` was designed. Kept for this comparison: {kept}."
    yield (
        f"**Target.** Accuracy at the first evaluation of tuned `{BASELINE}` plus {SHARE:.0%} of what it gains until "
        "its last, by its mean curve over seeds. The cost of a contender is where its mean held-out curve first "
        "reaches that, linear between evaluations. Ratios are costs over those of tuned "
        f"`{BASELINE}`: below 1 is cheaper. `>x` never reaches the target and spent x; `<x` is compared with one "
        "that never does."
    )
    yield (
        "**Intervals** are 95% bootstrap intervals over seeds; those of ratios draw the same seeds for both, "
        f"{RESAMPLES:,} times, with the target fixed. A draw in which the contender alone misses the target is "
        f"infinite; where `{BASELINE}` alone does, its whole budget stands for its cost; where both do, the draw is "
        "left out. *Draws below the target* counts all in which the contender misses it."
    )
    yield (
        "**Units.** Rows are trained rows, recalled ones included. Measured seconds are processor seconds of one "
        "thread without evaluations; a step with an evaluation counts as the mean of the other steps of its run. "
        "`pods` and `update-bound` are the prices of `winnow compare --cost` for the same counts."
    )


def _summary(summary: Result) -> Iterator[str]:
    names = {BASELINE: f"tuned `{BASELINE}`", FIXED: f"tuned `{FIXED}`", BEST: "the best other of each task"}
    head = ["unit", "against", "geometric mean", "worst task", "kept tasks only", "worst kept task"]
    rows = []
    for unit in UNITS:
        for other, name in names.items():
            cells = [_mean_worst(summary[scope]["winnow"][other][unit]) for scope in ("all", "kept")]
            rows.append([HEADS.get(unit, unit), name, *cells[0], *cells[1]])
    yield (
        f"Cost of `{RECIPE}` to the target over that of others. Geometric means are over the tasks on which both reach "
        "it, of those that have both: a task that `winnow` misses is in the column of the worst task alone. The best "
        f"other is the cheapest in that unit among the recipes that are neither `{RECIPE}` nor GRPO."
    )
    yield markdown(head, rows)
    yield f"Every contender against tuned `{BASELINE}`, geometric means over the tasks on which it reaches the target:"
    others = summary["all"]["to_grpo"].items()
    rows = [[f"`{label}`", *(_mean_worst(each[unit])[0] for unit in UNITS)] for label, each in others]
    yield markdown(["contender", *(HEADS.get(unit, unit) for unit in UNITS)], rows)


def _mean_worst(found: Result) -> list[str]:
    count = f"({found['tasks']} of {found['of']})"
    worst = found["worst"]
    mean = f"{found['mean']:.2f} {count}" if found["mean"] is not None else f"none {count}"
    return [mean, "none" if worst is None else f"{worst[2]}{worst[1]:.2f} (`{worst[0]}`)"]


def _task(each: Result, bench: Bench) -> Iterator[str]:
    settings = ", ".join(f"`{name} = {value}`" for name, value in each["settings"].items())
    kind, target = "Used during the design" if each["design"] else "Kept", each["target"]
    yield (
        f"{kind}. {settings}; {each['rollouts']:,} rollouts, {len(each['seeds'])} seeds common to all contenders, "
        f"{bench.prompts} held-out prompts with {bench.samples} completions each. "
        + (f"Target: {target:.3f}." if target is not None else f"Tuned `{BASELINE}` gains nothing: there is no target.")
    )
    shown = [unit for unit in UNITS if unit != "tokens"]
    head = ["contender", "size", "rate", "final accuracy", f"against `{BASELINE}`", "draws below the target"]
    rows = [
        [
            f"`{label}`", _size(one["size"]), f"{one['rate']:g}", _interval(one["accuracy"], ".3f"),
            "" if label == BASELINE else _interval(one["difference"], "+.3f"),
            "" if target is None else f"{one['missed']:.0%}",
            *(_ratio(one["ratio"][unit], one["bound"][unit]) for unit in shown),
        ]
        for label, one in each["contenders"].items()
    ]  # fmt: skip
    yield markdown([*head, *(HEADS.get(unit, unit) for unit in shown)], rows)
    if each["notes"]:
        yield "Missing: " + "; ".join(each["notes"]) + "."


def _ratio(found: Sequence[float | None], bound: float | None) -> str:
    if bound is None:
        return "not measured"
    least = (bound, bound, max(bound, found[1] or 0.0))  # an infinite end is above the finite one too
    value, low, high = (f">{x:.2f}" if end is None else f"{end:.2f}" for end, x in zip(found, least, strict=True))
    return f"{value} [{low}, {high}]"


def _interval(found: Mapping[str, float], form: str) -> str:
    return f"{found['value']:{form}} [{found['low']:{form}}, {found['high']:{form}}]"


def _size(size: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in size.items()) or "its own"
