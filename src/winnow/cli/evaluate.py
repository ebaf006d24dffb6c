"""``winnow eval``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.train import Evaluation, TrainConfig

EXAMPLES = (
    "winnow eval runs/mix-pods-seed0",
    "winnow eval runs/mix-pods-seed0 --step 100 --samples 16 --pass-at 1 --pass-at 8",
    "winnow eval ./my-model --task my.jsonl --temperature 0",
)


def evaluate(
    subject: Annotated[
        str, typer.Argument(metavar="RUN|MODEL", help="A run folder, or a model folder.", autocompletion=o.paths)
    ],
    step: Annotated[int | None, typer.Option(help="Checkpoint of a run  [dim]default: the last[/dim]")] = None,
    prompts: Annotated[int | None, typer.Option(help="Held-out prompts, the first ones.")] = None,
    samples: Annotated[int | None, typer.Option(help="Completions per prompt.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature; 0 takes the likeliest token.")
    ] = None,
    pass_at: Annotated[list[int] | None, typer.Option(metavar="K", help="Also pass@K; may be repeated.")] = None,
    seed: Annotated[int | None, typer.Option(help="Noise of the evaluation.")] = None,
    assign: o.Set = None,
    task: o.Task = None,
    prompt_column: o.PromptColumn = None,
    answer_column: o.AnswerColumn = None,
    reward: o.Reward = None,
    unsafe_code: o.UnsafeCode = None,
    as_json: o.Json = False,
) -> None:
    """Measure accuracy on the held-out prompts of a task.

    A run is evaluated on its own task with its own settings; a model needs --task unless it is meant
    for the built-in one. With --task, a run is evaluated on other data than it was trained on.
    """
    from winnow.errors import ConfigError

    given = o.settings(
        [
            ("task", task), ("prompt_column", prompt_column), ("answer_column", answer_column), ("reward", reward),
            ("unsafe_code", unsafe_code),
            ("eval_prompts", prompts), ("eval_samples", samples), ("eval_temperature", temperature),
            ("eval_seed", seed), ("pass_at_k", tuple(pass_at) if pass_at else None),
        ],
        assign,
    )  # fmt: skip
    config, checkpoint = resolve(Path(subject), step, given)
    if config.eval_prompts < 1:
        raise ConfigError(f"eval_prompts={config.eval_prompts}: an evaluation needs --prompts of at least 1")
    found, name = _measure(config, checkpoint)
    facts = {
        "subject": subject,
        "checkpoint": None if checkpoint is None else checkpoint.name,
        "task": name,
        "accuracy": found.accuracy,
        **{f"pass@{k}": share for k, share in sorted(found.pass_at.items())},
        "samples": found.samples,
        "unscorable": found.unscorable,
        "mean_length": found.length,
    }
    if as_json:
        print(json.dumps(facts), file=result())
    else:
        _show(facts)


def resolve(subject: Path, step: int | None, given: dict[str, object]) -> tuple[TrainConfig, Path | None]:
    """Return the settings of the evaluation, and the checkpoint to read when ``subject`` is a run.

    Raises:
        ConfigError: ``subject`` is neither a run nor a model, or the run has no such checkpoint.
    """
    from winnow.errors import ConfigError
    from winnow.train import load_config
    from winnow.train.checkpoint import Checkpoints

    saved = subject / "config.toml"
    if not saved.is_file():
        if step is not None:
            raise ConfigError(f"--step {step}: {subject} is not a run folder, it has no checkpoints")
        # A data file that serves evaluation alone need not fill a training step.
        config, _ = load_config(None, {"prompts_per_step": 1, **given, "model": str(subject)})
        return config, None
    config = _settings(saved, given)
    checkpoints = {_step(path): path for path in Checkpoints(subject / "checkpoints", keep=1).all()}
    if not checkpoints:
        raise ConfigError(f"{subject} has no checkpoint yet: nothing to evaluate")
    wanted = max(checkpoints) if step is None else step
    if wanted not in checkpoints:
        kept = ", ".join(str(number) for number in sorted(checkpoints))
        raise ConfigError(f"--step {wanted}: {subject} keeps the checkpoints of steps {kept}")
    return config, checkpoints[wanted]


def _settings(saved: Path, given: dict[str, object]) -> TrainConfig:
    """Return the settings of a run under those given; another task takes none of the old one's options."""
    from winnow import task
    from winnow.train import load_config

    run, _ = load_config(saved, {})
    if given.get("task", run.task) == run.task:
        return load_config(saved, given)[0]
    kept = run.model_dump(exclude={"task", "task_options", "prompts_per_step"}, exclude_unset=True)
    options = kept.pop("recipe_options", {})
    kept |= {f"recipe_options.{name}": value for name, value in options.items()}
    # The checkpoint goes into the architecture the run started from, which may be what its task ships.
    kept["model"] = run.model or task.load(run.task, seed=run.task_seed, options=run.task_options).policy
    return load_config(None, {"prompts_per_step": 1, **kept, **given})[0]


def _step(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _measure(config: TrainConfig, checkpoint: Path | None) -> tuple[Evaluation, str]:
    from winnow.errors import DataError
    from winnow.train import weights
    from winnow.train.held_out import held_out
    from winnow.train.prepare import prepare

    setup = prepare(config)
    if not len(setup.test):
        raise DataError(f"task {setup.task.name} has no held-out prompts: set test_fraction or test_path")
    if checkpoint is not None:
        weights.restore(checkpoint, setup.model)
    return held_out(config, setup), setup.task.name


def _show(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value is not None:
            share = name == "accuracy" or name.startswith("pass@")
            text = f"[bold]{value:.1%}[/bold]" if share else f"{value:.1f}" if isinstance(value, float) else str(value)
            table.add_row(f"[dim]{name.replace('_', ' ')}[/dim]", text)
    Console().print(table)
