"""Recipes by name; open to those of users."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from winnow.about import DECLARED, About
from winnow.errors import unknown
from winnow.recipe import Recipe

_REGISTRY: dict[str, Callable[[], Recipe]] = {}


def register(name: str, build: Callable[[], Recipe]) -> None:
    """Make a recipe available by name, in `recipe` and on the command line."""
    _REGISTRY[name] = build


def register_declared() -> None:
    """Register every recipe that a rule declared beside itself, see `winnow.about.declare`."""
    for name, (about, parts) in DECLARED.items():
        register(name, partial(_declared, name, about, parts))


def _declared(name: str, about: About, parts: Callable[[], dict[str, Any]]) -> Recipe:
    return Recipe(name, about=about).override(**parts())


def names() -> list[str]:
    """Return the registered names, presets first in the order they are told in."""
    return list(_REGISTRY)


def recipe(name: str | Recipe, **overrides: Any) -> Recipe:
    """Return a recipe by name, with some settings changed; see `Recipe.override`.

    What its parts remember is its own: a recipe given is copied, so that two runs never share a memory.

    Raises:
        ConfigError: if the name or a setting is unknown; the message suggests the nearest.
    """
    if isinstance(name, Recipe):
        return name.override(**overrides).fresh()
    if name not in _REGISTRY:
        raise unknown("recipe", name, _REGISTRY)
    return _REGISTRY[name]().override(**overrides)
