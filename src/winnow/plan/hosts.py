"""What a plan looks like in another trainer, and the arithmetic that these trainers share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winnow.errors import unknown

HOSTS = {"trl": "TRL", "verl": "verl"}
"""Trainers that settings can be printed for, with the name their users know."""


@dataclass(frozen=True)
class HostSettings:
    """The sizes of a step in the words of another trainer, so that it trains the same rows.

    Attributes:
        settings: its names and values.
        rules: what divides what, with the numbers filled in.
        changed: what had to differ from the plan to keep them.
    """

    settings: dict[str, Any]
    rules: tuple[str, ...]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostPlan:
    """Everything a trainer has to be told to run a recipe.

    Attributes:
        sizes: of a step.
        objective: every setting of the loss, those at their default too.
        run: what was asked for beyond the recipe, as the learning rate.
        recipe: how winnow itself is switched on there.
        limits: what this trainer cannot do, or does differently.
    """

    sizes: HostSettings
    objective: dict[str, Any]
    run: dict[str, Any] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)
    limits: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """All settings but those of winnow; what the objective needs goes before what was asked for."""
        return self.sizes.settings | self.run | self.objective


def check_host(name: str) -> str:
    """Return the name of a trainer.

    Raises:
        ConfigError: it is not among `HOSTS`; the message suggests the nearest.
    """
    if name not in HOSTS:
        raise unknown("host", name, HOSTS)
    return name


def translated(asked: Mapping[str, Any], names: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return settings of a run under the names of a trainer, and a line on those that have none there.

    Args:
        asked: values by their name in `winnow.train.TrainConfig`.
        names: names there by names here.
    """
    found = {names[name]: value for name, value in asked.items() if name in names and value is not None}
    lost = sorted(asked.keys() - names.keys())
    return found, (f"not carried over: {', '.join(lost)}",) if lost else ()


def raised(prompts: int, unit: int, what: str) -> tuple[int, tuple[str, ...]]:
    """Return the next multiple of ``unit``, and a line that says so where it is another number."""
    legal = math.ceil(prompts / unit) * unit
    if legal == prompts:
        return prompts, ()
    return legal, (f"prompts {prompts} -> {legal}, the next multiple of {unit} ({what})",)


def largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of ``number`` that is at most ``most``."""
    return max(size for size in range(1, min(number, most) + 1) if number % size == 0)
