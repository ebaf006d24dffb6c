"""Options that several commands share, so that they read the same everywhere, and what they complete to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

DATA, SIZES, OUTPUT = "Data and model", "Sizes", "Output"
FLAG = ""
"""What stands in the help where an option takes no value."""
TASKS = ("mix", "code", "reasoning-gym:chain_sum", "reasoning-gym:countdown", "reasoning-gym:simple_equations")


def recipe_names(incomplete: str) -> list[str]:
    """Complete the name of a recipe."""
    from winnow.registry import names

    return [name for name in names() if name.startswith(incomplete)]


def task_names(incomplete: str) -> Iterator[str]:
    """Complete a built-in task or the path of a data file."""
    yield from (name for name in TASKS if name.startswith(incomplete))
    yield from paths(incomplete)


def paths(incomplete: str) -> Iterator[str]:
    """Complete a path; folders end in a slash so that completion can go on inside."""
    typed = Path(incomplete)
    folder, start = (typed, "") if incomplete.endswith("/") or not incomplete else (typed.parent, typed.name)
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(start) and (start.startswith(".") or not path.name.startswith(".")):
            yield f"{path}/" if path.is_dir() else str(path)


Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file of settings; options given here win over it.",
        autocompletion=paths,
        rich_help_panel=OUTPUT,
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Recipe, see [bold]winnow recipes[/bold]  [dim]default: vigor+pods[/dim]",
        autocompletion=recipe_names,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|PATH",
        help="mix, code, reasoning-gym:FAMILY, or a data file or folder  [dim]default: mix[/dim]",
        autocompletion=task_names,
        rich_help_panel=DATA,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder of a Hugging Face causal LM, or built-in  [dim]default: the policy the task ships[/dim]",
        autocompletion=paths,
        rich_help_panel=DATA,
    ),
]
PromptColumn = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the prompt.", rich_help_panel=DATA)]
AnswerColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the gold answer.", rich_help_panel=DATA)
]
Reward = Annotated[
    str | None,
    typer.Option(
        metavar="REWARD",
        help="exact, math, code, think, file.py:function, or a sum",
        autocompletion=paths,
        rich_help_panel=DATA,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="jsonl, json, csv, tsv, parquet or arrow, where the name does not tell.",
        rich_help_panel=DATA,
    ),
]
DropBadRows = Annotated[
    bool | None,
    typer.Option("--drop-bad-rows", metavar=FLAG, help="Leave unusable rows out and count them.", rich_help_panel=DATA),
]
UnsafeCode = Annotated[
    bool | None,
    typer.Option(
        "--unsafe-code",
        metavar=FLAG,
        help="Run programs of the model without isolation where the system offers none.",
        rich_help_panel=DATA,
    ),
]
N = Annotated[int | None, typer.Option("--n", help="Rollouts per prompt (mean).", rich_help_panel=SIZES)]
M = Annotated[
    str | None,
    typer.Option("--m", metavar="NUMBER|SHARE", help="Rollouts trained on per prompt.", rich_help_panel=SIZES),
]
Prompts = Annotated[
    int | None,
    typer.Option("--prompts", help="Prompts per step.", rich_help_panel=SIZES),
]
MicroBatch = Annotated[
    int | None,
    typer.Option(help="Rows per forward pass; memory only.", rich_help_panel=SIZES),
]
LearningRate = Annotated[float | None, typer.Option("--lr", help="Learning rate.", rich_help_panel=SIZES)]
Seed = Annotated[int | None, typer.Option(help="Seed of everything random.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; may be repeated.", show_default=False),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Print notes and errors only.", rich_help_panel=OUTPUT)
]
Json = Annotated[
    bool,
    typer.Option("--json", metavar=FLAG, help="Print the result as one JSON object on stdout.", rich_help_panel=OUTPUT),
]
LARGEST = 2**63 - 1
TASK_OPTIONS = ("prompt_column", "answer_column", "reward", "format", "drop_bad_rows")


def settings(values: Iterable[tuple[str, object]], assignments: Iterable[str] | None = None) -> dict[str, object]:
    """Return the training settings given on the command line: options that are not None, then ``--set``.

    Raises:
        ConfigError: an assignment has no ``=``, or a whole number has more than 64 bits.
    """
    from winnow.cli.values import assignment, literal
    from winnow.errors import ConfigError

    found: dict[str, object] = {}
    for name, value in values:
        if value is None:
            continue
        key = f"task_options.{name}" if name in TASK_OPTIONS else name
        if name == "unsafe_code":
            # The built-in task brings its reward; on a file the reward is chosen and has options of its own.
            key = "task_options.unsafe" if found.get("task") == "code" else "task_options.reward_options.unsafe"
        found[key] = literal(value) if name == "m" and isinstance(value, str) else value
    found.update(assignment(text, "--set") for text in assignments or ())
    for name, value in found.items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ConfigError(f"{name}={value}: whole numbers go up to {LARGEST}")
    return found
