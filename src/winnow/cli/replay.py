"""``winnow replay``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from winnow.recipe import Recipe

LOG, HOW = "The log", "What a step may spend"
EXAMPLES = (
    "winnow replay runs/pilot-mix-seed0",
    "winnow replay runs/mine --recipe pods:n=16,m=4 --recipe vigor --budget 256",
    "winnow replay trl_output --column reward=accuracy_reward --cost 0,0.06,0.12",
    "winnow replay rollouts.parquet --cost timings.jsonl --budget 40000 --budget-unit tokens",
)


def replay(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="JSONL or Parquet of rollouts, or a folder of a run or pilot, of TRL's completions, of verl's dumps.",
            autocompletion=o.paths,
        ),
    ],
    recipes: Annotated[
        list[str] | None,
        typer.Option(
            "--recipe",
            metavar="RECIPE",
            help="NAME or NAME:key=value,...; may be repeated  [dim]default: all that decide differently[/dim]",
            autocompletion=o.recipe_names,
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="WHAT=NAME",
            help="Which column holds prompt, reward (a+b adds), tokens, outcome, step, ...; may be repeated.",
            show_default=False,
            rich_help_panel=LOG,
        ),
    ] = None,
    exhausted: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Skip recipes that need more rollouts than this beyond those logged.",
            rich_help_panel=LOG,
        ),
    ] = 0.5,
    budget: Annotated[
        int | None,
        typer.Option(
            min=2, help="What a step may generate  [dim]default: the recipe's n per prompt[/dim]", rich_help_panel=HOW
        ),
    ] = None,
    budget_unit: Annotated[
        str, typer.Option(metavar="UNIT", help="rollouts or tokens.", rich_help_panel=HOW)
    ] = "rollouts",
    prompts: Annotated[
        int | None,
        typer.Option(
            "--prompts",
            min=1,
            help="Prompts per step  [dim]default: as logged, 64 for a pilot[/dim]",
            rich_help_panel=HOW,
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|a,b,c",
            help="Timings of steps to fit seconds to, or a + b n + c m seconds per step and prompt  [dim]default: the "
            "run's own, where the log is a run[/dim]",
            autocompletion=o.paths,
            rich_help_panel=HOW,
        ),
    ] = None,
    no_advice: Annotated[
        bool, typer.Option("--no-advice", metavar=o.FLAG, help="Leave out other sizes and the recommendation.")
    ] = False,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Would another recipe have made more of rollouts you already have?

    Runs the decisions of each recipe again on the rollouts of a log and tells, with intervals, what it would have
    generated and trained, how many groups would have had no signal, and which recipe, n and m suit your budget. When
    none is better than what you do, it says so.
    """
    from winnow import replay as core
    from winnow.replay.run import needs

    chosen = None if recipes is None else [recipe(text) for text in recipes]
    wanted = needs(chosen)
    log = core.read_log(logs, columns=_mapping(columns or []), needs=wanted.columns, texts=wanted.texts)
    price = core.find_cost(cost, logs)
    show_progress = _progress(quiet or as_json)
    found = core.replay(
        log,
        chosen,
        prompts=prompts,
        budget=budget,
        budget_unit=budget_unit,
        cost=price,
        most_further=exhausted,
        recommend=not no_advice,
        seed=seed or 0,
        on_progress=show_progress,
    )
    show_progress("")
    if as_json:
        print(json.dumps(found), file=result())
        return
    from winnow.cli.replay_text import show

    show(found, brief=quiet)


def recipe(text: str) -> Recipe:
    """Read ``NAME`` or ``NAME:key=value,...``."""
    import winnow
    from winnow.cli.values import arm

    settings = dict(arm(text).settings)
    name = str(settings.pop("recipe"))
    return winnow.recipe(name, **{key.removeprefix("recipe_options."): value for key, value in settings.items()})


def _mapping(texts: list[str]) -> dict[str, str]:
    from winnow.errors import ConfigError

    found = {}
    for text in texts:
        what, equals, name = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--column {text!r}: expected WHAT=NAME, as reward=score")
        found[what.strip()] = name.strip()
    return found


def _progress(quiet: bool) -> Callable[[str], None]:
    """Return what shows the recipe at work: a line that is overwritten on a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        return lambda title: None
    return lambda title: print(f"\r\033[K{title}", end="", file=sys.stderr, flush=True)
