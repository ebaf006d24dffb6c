"""``winnow train``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

LIMITS = "When to stop (the first one reached)"
EXAMPLES = (
    "winnow train",
    "winnow train --recipe pods --n 32 --m 8 --steps 100 --out runs/pods",
    "winnow train --task my.jsonl --prompt-column question --answer-column solution --model ./my-model",
    "winnow train --task my.jsonl --reward rewards.py:score --set max_new_tokens=256 --set lora_rank=16",
    "winnow train --out runs/pods --resume",
)


def train(
    recipe: o.Recipe = None,
    seed: o.Seed = None,
    assign: o.Set = None,
    task: o.Task = None,
    model: o.Model = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    unsafe_code: o.UnsafeCode = None,
    file_format: o.Format = None,
    drop_bad_rows: o.DropBadRows = None,
    n: o.N = None,
    m: o.M = None,
    prompts: o.Prompts = None,
    micro_batch: o.MicroBatch = None,
    lr: o.LearningRate = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps.", rich_help_panel=LIMITS)] = None,
    rollouts: Annotated[int | None, typer.Option(help="Rollouts generated.", rich_help_panel=LIMITS)] = None,
    tokens: Annotated[int | None, typer.Option(help="Tokens generated.", rich_help_panel=LIMITS)] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Seconds of training, evaluation aside.", rich_help_panel=LIMITS)
    ] = None,
    config: o.Config = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder  [dim]default: a new one under runs/[/dim]",
            autocompletion=o.paths,
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", metavar=o.FLAG, help="Continue the run in --out.", rich_help_panel=o.OUTPUT)
    ] = False,
    allow_change: Annotated[
        list[str] | None,
        typer.Option(metavar="SETTING", help="With --resume: a setting that may differ.", rich_help_panel=o.OUTPUT),
    ] = None,
    no_report: Annotated[
        bool,
        typer.Option(
            "--no-report", metavar=o.FLAG, help="Leave figures and report.html out.", rich_help_panel=o.OUTPUT
        ),
    ] = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Train a policy; write a run folder with every number, figures and a report.

    Any setting can come from a TOML file (--config), from an option, or from --set; options win over
    the file, and config.toml in the run folder says where each value came from.
    """
    given = o.settings(
        [
            ("recipe", recipe), ("seed", seed), ("task", task), ("model", model), ("prompt_column", prompt_column),
            ("answer_column", answer_column), ("reward", reward), ("unsafe_code", unsafe_code), ("format", file_format),
            ("drop_bad_rows", drop_bad_rows), ("n", n), ("m", m), ("prompts_per_step", prompts),
            ("micro_batch", micro_batch), ("lr", lr), ("steps", steps), ("rollouts", rollouts), ("tokens", tokens),
            ("seconds", seconds), ("out", None if out is None else str(out)),
        ],
        assign,
    )  # fmt: skip
    _run(given, config, resume, _names(allow_change), "json" if as_json else "quiet" if quiet else "auto", no_report)


def _names(allow_change: list[str] | None) -> list[str]:
    return [name for text in allow_change or () for name in text.split(",") if name]


def _run(
    given: dict[str, Any], config: Path | None, resume: bool, allow_change: list[str], mode: Any, no_report: bool
) -> None:
    from winnow.train import load_config
    from winnow.train.prepare import check_recipe
    from winnow.train.progress import make

    if resume and config is None and given.get("out"):
        saved = Path(str(given["out"])) / "config.toml"
        config = saved if saved.is_file() else None
    resolved, provenance = load_config(config, given)
    check_recipe(resolved)
    # Imported here and not above: a wrong setting is told before torch, which takes seconds, is loaded.
    from winnow.train import Trainer

    trainer = Trainer(resolved, provenance, make(mode, out=result()))
    summary = trainer.run(resume=resume, allow_change=allow_change)
    code = int(summary.get("exit_code", 0))
    if code:
        # Whoever interrupts a run wants out now; `winnow report` draws what there is.
        raise typer.Exit(code)
    if not no_report:
        _report(Path(str(summary["out"])), mode)


def _report(folder: Path, mode: str) -> None:
    from winnow.errors import MissingExtra
    from winnow.report import write_report

    try:
        page = write_report(folder)
    except MissingExtra as error:
        print(f"note: no report was written: {error}", file=sys.stderr)
        return
    if mode == "auto":
        print(f"report: {page}", file=sys.stderr)
