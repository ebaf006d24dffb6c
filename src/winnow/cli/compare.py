"""``winnow compare``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.compare import Comparison, CostModel, Experiment
    from winnow.compare.runner import Event

WHAT, HOW = "What is compared", "How it is judged"
EXAMPLES = (
    "winnow compare grpo pods vigor vigor+pods",
    "winnow compare grpo:n=2,prompts=64 grpo:n=8 pods:n=32,m=8,lr=2e-3 --seeds 5 --budget 20000",
    "winnow compare grpo vigor+pods --task my.jsonl --model ./my-model --target 0.6 --cost update-bound",
    "winnow compare grpo pods --cost 4.41,0.058,0.6 --jobs 2 --out runs/price",
)


def compare(
    recipes: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE...",
            help="NAME or NAME:key=value,...  A key is a training setting (n, m, lr, prompts, ...) or an option of "
            "the recipe. The first one is the baseline.",
            autocompletion=o.recipe_names,
        ),
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every recipe.", rich_help_panel=WHAT)] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them.", rich_help_panel=WHAT)] = 0,
    budget: Annotated[
        float | None,
        typer.Option(help="What every run may spend  [dim]default: 12000 rollouts[/dim]", rich_help_panel=WHAT),
    ] = None,
    budget_unit: Annotated[
        str, typer.Option(metavar="UNIT", help="rollouts, tokens or seconds.", rich_help_panel=WHAT)
    ] = "rollouts",
    target: Annotated[
        str,
        typer.Option(
            metavar="SHARE|auto",
            help="Accuracy to reach; auto: the best mean the first recipe reaches.",
            rich_help_panel=HOW,
        ),
    ] = "auto",
    cost: Annotated[
        str,
        typer.Option(
            metavar="REGIME|a,b,c",
            help="Price of seconds: measured, pods, pods-step, update-bound, or a + b n + c m seconds per step and "
            "prompt. Needs no new run.",
            rich_help_panel=HOW,
        ),
    ] = "measured",
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Runs at a time; more than one disturbs the clock.")
    ] = 1,
    assign: o.Set = None,
    task: o.Task = None,
    model: o.Model = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    unsafe_code: o.UnsafeCode = None,
    prompts: o.Prompts = None,
    lr: o.LearningRate = None,
    config: o.Config = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of the comparison; finished runs in it are kept.",
            autocompletion=o.paths,
            rich_help_panel=o.OUTPUT,
        ),
    ] = Path("runs/compare"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Run recipes side by side: same model, data and seeds, same budget.

    Prints what each spent to reach the target (rollouts, trained rows, tokens, seconds) and its final
    accuracy, with bootstrap intervals over seeds; writes compare.json, compare.html and figures. Costs
    to the target are medians over seeds. A seed that never gets there is censored: it counts as more
    than its budget, and the table says how many there were.

    Interrupt it at any time: the same command goes on where it stopped.
    """
    from winnow.cli.compare_text import show_table
    from winnow.cli.experiment import build, first_pass_notes
    from winnow.cli.values import arm
    from winnow.compare import cost_model, run_jobs

    given = o.settings(
        [
            ("task", task), ("model", model), ("prompt_column", prompt_column), ("answer_column", answer_column),
            ("reward", reward), ("unsafe_code", unsafe_code), ("prompts_per_step", prompts), ("lr", lr),
        ],
        assign,
    )  # fmt: skip
    price = cost_model(cost)
    aim = _target(target)
    experiment = build([arm(text) for text in recipes], config, given, seeds, first_seed, budget, budget_unit)
    notes = first_pass_notes(experiment)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    show = _show_nothing if quiet or as_json else _Lines(len(experiment.arms) * seeds)
    events = run_jobs(experiment.jobs(out), parallel=jobs, report=show)
    compared = _result(experiment, events, aim, price)
    written = _write(compared, out, _setting(experiment, jobs) | {"notes": notes})
    if as_json:
        print(json.dumps(written), file=result())
    else:
        show_table(compared)
        print(f"report: {out / 'compare.html'}", file=sys.stderr)
    if any(event.state == "failed" for event in events):
        raise typer.Exit(3)


def _target(text: str) -> float | None:
    from winnow.errors import ConfigError

    if text == "auto":
        return None
    try:
        value = float(text)
    except ValueError:
        raise ConfigError(f"--target {text!r}: give an accuracy between 0 and 1, or auto") from None
    if not 0 < value <= 1:
        raise ConfigError(f"--target {text}: an accuracy is above 0 and at most 1")
    return value


def _result(experiment: Experiment, events: Sequence[Event], target: float | None, price: CostModel) -> Comparison:
    from winnow.compare import compare_runs
    from winnow.errors import SafetyStop
    from winnow.report import load_run

    labels = [arm.label for arm in experiment.arms]
    failed = {label: [e for e in events if e.job.arm == label and e.state == "failed"] for label in labels}
    for label, stopped in failed.items():
        if len(stopped) == len(experiment.seeds):
            raise SafetyStop(f"{label}: every seed was stopped; the first one because: {stopped[0].detail}")
    finished = {
        label: [
            load_run(event.job.folder)
            for event in sorted(events, key=lambda event: event.job.seed)
            if event.job.arm == label and event.state != "failed"
        ]
        for label in labels
    }
    counts = {label: len(stopped) for label, stopped in failed.items()}
    return compare_runs(finished, target=target, cost=price, failed=counts)


def _setting(experiment: Experiment, jobs: int) -> dict[str, Any]:
    return {
        "budget": experiment.budget,
        "unit": experiment.unit,
        "seeds": list(experiment.seeds),
        "base": dict(experiment.base),
        "arms": {arm.label: dict(arm.settings) for arm in experiment.arms},
        "jobs": jobs,
    }


def _write(result: Comparison, out: Path, setting: dict[str, Any]) -> dict[str, Any]:
    from winnow.compare import figures, page
    from winnow.errors import MissingExtra

    written = {**setting, **result.as_dict(), "out": str(out)}
    out.mkdir(parents=True, exist_ok=True)
    (out / "compare.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    try:
        drawn = figures.draw(result, out / "figures")
    except MissingExtra as error:
        print(f"note: no figures were drawn: {error}", file=sys.stderr)
        return written
    lead = (
        f"task {setting['base'].get('task', 'mix')}, {len(setting['seeds'])} seeds, "
        f"{setting['budget']:,g} {setting['unit']} each"
    )
    (out / "compare.html").write_text(page.render(result, drawn, lead), encoding="utf-8")
    return written


def _show_nothing(event: Event) -> None:
    pass


class _Lines:
    """Prints one line for every run that ends."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._over = 0

    def __call__(self, event: Event) -> None:
        if event.state == "started":
            return
        self._over += 1
        summary = event.job.summary() or {}
        final = summary.get("accuracy_final")
        facts = f"{event.state}" + (f", accuracy {final:.3f}" if final is not None else "")
        facts += f" in {event.seconds:.0f} s" if event.state == "done" else ""
        print(f"[{self._over}/{self._total}] {event.job.arm} seed {event.job.seed}: {facts}", file=sys.stderr)
        if event.state == "failed":
            print(event.detail, file=sys.stderr)
