"""``winnow recipes``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result
from winnow.cli.recipe_groups import GROUPS, STATUS, group_of, grouped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from winnow.recipe import Recipe

EXAMPLES = (
    "winnow recipes",
    "winnow recipes vigor+pods",
    "winnow recipes --json",
)
PARTS = (
    "curriculum", "allocation", "gate", "selection", "advantage", "weight", "stats", "signal", "objective", "recall",
)  # fmt: skip
FILE_WIDTH = 160
"""Columns of the list where it goes to a file or a pipe."""


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(help="Show one recipe: paper, price, bias, all settings.", autocompletion=o.recipe_names),
    ] = None,
    as_json: o.Json = False,
) -> None:
    """List the recipes by what they change, or show one of them with all its settings."""
    import winnow

    if name is None:
        found = [winnow.recipe(each) for each in o.recipe_names("")]
        if as_json:
            print(json.dumps({each.name: _facts(each) for each in found}), file=result())
        else:
            _list(found)
    elif as_json:
        one = winnow.recipe(name)
        print(json.dumps(_facts(one) | {"settings": one.describe()}), file=result())
    else:
        _show(winnow.recipe(name))


def _facts(recipe: Recipe) -> dict[str, Any]:
    about = recipe.about
    return {
        "changes": group_of(recipe),
        "paper": about.paper,
        "idea": about.idea,
        "saves": about.saves,
        "costs": about.costs,
        "bias": about.bias,
        "status": about.status,
        "n": recipe.allocation.n,
        "m": None if recipe.selection.name == "all_rows" else recipe.selection.m,
        "needs": list(recipe.needs),
        "runs_in": ["train", *_hosts(recipe)],
    }


def _hosts(recipe: Recipe) -> list[str]:
    from winnow.plan import HOSTS, refusal

    return [host for host in HOSTS if refusal(recipe, host) is None]


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=FILE_WIDTH)
    return console


def _list(found: list[Recipe]) -> None:
    from rich.markup import escape

    console = _console()
    widest = max(len(recipe.name) for recipe in found)
    for group, members in grouped(found).items():
        console.print(f"[bold]{group}[/bold]  [dim]{GROUPS[group]}[/dim]")
        for recipe in members:
            mark, _ = STATUS[recipe.about.status]
            line = f"  [cyan]{recipe.name:{widest}}[/cyan] {mark} {escape(recipe.about.idea)}"
            console.print(line, no_wrap=True, overflow="ellipsis")
        console.print()
    for mark, meaning in STATUS.values():
        console.print(f"[dim]{mark} {meaning}[/dim]")
    console.print("[dim]Paper, price, bias and settings of one: winnow recipes NAME[/dim]")


def _grid(rows: list[tuple[str, str]]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, text in rows:
        table.add_row(f"  [dim]{name}[/dim]", text)
    return table


def _show(recipe: Recipe) -> None:
    from rich.table import Table

    console = _console()
    console.print(f"[bold cyan]{recipe.name}[/bold cyan]")
    facts = _facts(recipe) | {"status": f"{recipe.about.status}: {STATUS[recipe.about.status][1]}"}
    facts["changes"] = f"{facts['changes']}: {GROUPS[facts['changes']]}"
    console.print(_grid([(name.replace("_", " "), _text(name, fact)) for name, fact in facts.items() if fact != []]))
    console.print("\n[bold]Settings[/bold]  [dim]change any with --set recipe_options.KEY=VALUE[/dim]")
    described = recipe.describe()
    settings = Table.grid(padding=(0, 2))
    for part in PARTS:
        value = described[part]
        rows = value.items() if isinstance(value, dict) else [(part, value)]
        for place, (key, setting) in enumerate(rows):
            # A rule is changed by the name of its part.
            name = part if key == "rule" else key
            settings.add_row(f"  [dim]{part if place == 0 else ''}[/dim]", name, str(setting))
    console.print(settings)


def _text(name: str, fact: Any) -> str:
    if name == "m" and fact is None:
        return "all"
    return ", ".join(fact) if isinstance(fact, list) else str(fact)
