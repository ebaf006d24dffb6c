"""Recipes at the size of a log's groups."""

from __future__ import annotations

import winnow
from winnow.errors import ConfigError
from winnow.recipe import Recipe
from winnow.replay.play import Table

FEWEST = 2


def at_size_of(table: Table, recipe: Recipe) -> Recipe | None:
    """Return a recipe with the log's mean n, rounded, and m in proportion (two at least).

    None where its own n is no larger, or where it cannot have that size.
    """
    n, own = round(len(table.log) / table.log.visits), recipe.allocation.n
    if not FEWEST <= n < own:
        return None
    m = recipe.selection.m
    settings = {"m": max(FEWEST, round(m * n / own))} if _counts(recipe) else {}
    try:
        return winnow.recipe(recipe, n=n, **settings)
    except ConfigError:
        return None


def sizes_of(recipe: Recipe) -> str:
    """Return n, and m where it selects, in a few words."""
    kept = "" if recipe.selection.name == "all_rows" else f", m={recipe.selection.m:g}"
    return f"n={recipe.allocation.n}{kept}"


def as_command(recipe: Recipe) -> str:
    """Return what ``--recipe`` takes for these sizes."""
    return f"{recipe.name}:n={recipe.allocation.n}" + (f",m={recipe.selection.m}" if _counts(recipe) else "")


def _counts(recipe: Recipe) -> bool:
    return recipe.selection.name != "all_rows" and isinstance(recipe.selection.m, int)
