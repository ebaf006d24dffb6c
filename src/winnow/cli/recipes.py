"""``winnow recipes``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.cli import options as o
from winnow.cli.output import result

if TYPE_CHECKING:
    from rich.table import Table

    from winnow.recipe import Recipe

EXAMPLES = (
    "winnow recipes",
    "winnow recipes vigor+pods",
)
PARTS = ("allocation", "gate", "selection", "advantage", "weight", "stats", "signal", "objective")


def recipes(
    name: Annotated[
        str | None, typer.Argument(help="Show one recipe with all its settings.", autocompletion=o.recipe_names)
    ] = None,
    as_json: o.Json = False,
) -> None:
    """List the recipes: the paper, what each saves, what it costs, its known bias."""
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
        "paper": about.paper,
        "idea": about.idea,
        "saves": about.saves,
        "costs": about.costs,
        "bias": about.bias,
        "n": recipe.allocation.n,
        "m": recipe.selection.m,
    }


def _list(found: list[Recipe]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for recipe in found:
        console.print(f"[bold cyan]{recipe.name}[/bold cyan]  {recipe.about.idea}")
        console.print(_grid([(name, getattr(recipe.about, name)) for name in ("saves", "costs", "bias", "paper")]))
        console.print()
    console.print("[dim]All settings of one: winnow recipes NAME[/dim]")


def _grid(rows: list[tuple[str, str]]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, text in rows:
        table.add_row(f"  [dim]{name}[/dim]", text)
    return table


def _show(recipe: Recipe) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"[bold cyan]{recipe.name}[/bold cyan]")
    console.print(_grid([(name, "all" if fact is None else str(fact)) for name, fact in _facts(recipe).items()]))
    console.print("\n[bold]Settings[/bold]  [dim]change any with --set recipe_options.KEY=VALUE[/dim]")
    described = recipe.describe()
    settings = Table.grid(padding=(0, 2))
    for part in PARTS:
        value = described[part]
        rows = value.items() if isinstance(value, dict) else [(part, value)]
        for place, (key, setting) in enumerate(rows):
            settings.add_row(f"  [dim]{part if place == 0 else ''}[/dim]", key, str(setting))
    console.print(settings)
