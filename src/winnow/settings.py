"""The settings of a recipe's parts: their names, their plain values, and parts given by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from winnow import advantage as advantages
from winnow import allocation as allocations
from winnow import curriculum as curricula
from winnow import selection as selections
from winnow.advantage import Advantage
from winnow.errors import unknown
from winnow.objective.config import Objective
from winnow.selection import Select

if TYPE_CHECKING:
    from winnow.recipe import Recipe

PARTS = ("curriculum", "allocation", "gate", "selection", "advantage", "objective", "recall")
"""Fields of a recipe whose own settings `Recipe.override` reaches."""


def settings_of(part: object) -> set[str]:
    """Return the names of the settings of a part; empty for a bare function."""
    if not is_dataclass(part):
        return set()
    return {item.name for item in fields(part) if item.init and item.name != "rule"}


def kind_of(role: str, part: object) -> dict[str, str]:
    """Return what names a part: its name among the rules of its role, or that of its class.

    Nothing for the standard selection, advantage and objective, whose settings say it.
    """
    if type(part) in (Select, Advantage, Objective):
        return {}
    known: dict[str, Mapping[str, object]] = {
        "curriculum": curricula.RULES,
        "allocation": allocations.RULES,
        "selection": selections.PARTS,
        "advantage": advantages.PARTS,
    }
    names = [name for name, kind in known.get(role, {}).items() if kind is type(part)]
    return {role: names[0] if names else type(part).__name__.lower()}


def fitted(recipe: Recipe, longest: int) -> Recipe:
    """Fill in what a recipe leaves open until the longest completion is known (`winnow.advantage.Overlong`)."""
    return recipe.override(longest=longest) if getattr(recipe.advantage, "longest", 0) is None else recipe


def plain_settings(part: Any) -> dict[str, Any]:
    """Return the settings of a part as plain values."""
    return {item.name: plain(getattr(part, item.name)) for item in fields(part) if item.init}


def plain(value: Any) -> Any:
    """Return a value as a configuration file or a log can hold it."""
    return value if isinstance(value, str | int | float | bool | None) else getattr(value, "__name__", repr(value))


def named_part(recipe: Recipe, key: str, value: Any) -> Any:
    """Turn a rule given by name, or as a bare function, into the part that holds it."""
    by_name: dict[str, Mapping[str, Callable[[], object]]] = {
        "allocation": allocations.RULES,
        "curriculum": curricula.RULES,
    }
    if key in by_name and isinstance(value, str):
        rules = by_name[key]
        if value not in rules:
            raise unknown(key, value, rules)
        return rules[value]()
    if key == "selection" and (isinstance(value, str) or not hasattr(value, "m")):
        if isinstance(value, str) and value in selections.PARTS:
            return selections.PARTS[value]()
        return replace(recipe.selection, rule=value) if isinstance(recipe.selection, Select) else Select(value)
    if key == "advantage" and (isinstance(value, str) or not hasattr(value, "name")):
        if isinstance(value, str) and value in advantages.PARTS:
            return advantages.PARTS[value]()
        return replace(recipe.advantage, rule=value) if isinstance(recipe.advantage, Advantage) else Advantage(value)
    return value
