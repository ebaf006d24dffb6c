"""What is compared: arms, each a recipe with its own settings, over the same base settings and seeds."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winnow.compare.runner import Job
from winnow.errors import ConfigError

UNITS = ("rollouts", "tokens", "seconds")
_BUDGET = "--budget and --budget-unit"
EQUAL: Mapping[str, str] = {
    "task": "--task",
    "task_options": "--set",
    "task_seed": "--set",
    "model": "--model",
    "seed": "--first-seed and --seeds",
    "out": "--out",
    "steps": _BUDGET,
    "rollouts": _BUDGET,
    "tokens": _BUDGET,
    "seconds": _BUDGET,
    "pass_at_k": "--set",
}
"""Settings in which arms must not differ, and the option that sets each for all of them; so is ``eval_*``."""


@dataclass(frozen=True)
class Arm:
    """One line of the table.

    Attributes:
        label: how it is called in tables and figures.
        settings: training settings that differ from the base, ``recipe`` among them; keys inside
            tables are dotted, as in ``recipe_options.rounds``.
    """

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """Arms, seeds and the budget every run gets.

    Attributes:
        arms: at least one, with different labels.
        seeds: the same for every arm, so that arms can be paired.
        base: training settings shared by all arms.
        unit: what the budget counts, ``"rollouts"``, ``"tokens"`` or ``"seconds"``.
        budget: how much of it a run may spend; the run ends with the step that reaches it.
    """

    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    base: Mapping[str, Any]
    unit: str
    budget: float

    def __post_init__(self) -> None:
        labels = [arm.label for arm in self.arms]
        if not labels:
            raise ConfigError("nothing to compare: name at least one recipe")
        repeated = sorted({label for label in labels if labels.count(label) > 1})
        if repeated:
            raise ConfigError(f"recipe given twice: {', '.join(repeated)}; change an option of one of them")
        if not self.seeds:
            raise ConfigError("no seeds: --seeds must be at least 1")
        if self.unit not in UNITS:
            raise ConfigError(f"budget unit {self.unit!r}: choose one of {', '.join(UNITS)}")
        if not 0 < self.budget < math.inf:
            raise ConfigError(f"budget {self.budget}: must be finite and above 0")

    def settings(self, arm: Arm, seed: int) -> dict[str, Any]:
        """Return the training settings of one run: base, then the arm's, then budget and seed.

        Keys inside tables are dotted (``recipe_options.rounds``), so a table is merged key by key.
        """
        return {**self.base, **arm.settings, self.unit: self.budget, "seed": seed}

    def jobs(self, folder: Path) -> list[Job]:
        """Return one job per arm and seed, seed by seed, so that an early stop leaves whole pairs.

        The folder of an arm carries a hash of its settings: changed settings never meet old runs,
        and unchanged ones find theirs again.
        """
        return [
            Job(
                arm.label,
                seed,
                self.settings(arm, seed),
                folder / "runs" / f"{_slug(arm.label)}-{self._digest(arm)}" / f"seed-{seed}",
            )
            for seed in self.seeds
            for arm in self.arms
        ]

    def _digest(self, arm: Arm) -> str:
        text = json.dumps(self.settings(arm, 0), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def check_equal(arm: Arm) -> None:
    """Refuse an arm that sets what would make its conditions differ from those of the others.

    Raises:
        ConfigError: naming the setting and where it is set for all arms.
    """
    for key in arm.settings:
        name = key.partition(".")[0]
        if name in EQUAL or name.startswith("eval_"):
            where = EQUAL.get(name, "--set")
            raise ConfigError(
                f"recipe {arm.label!r} sets {key}, which has to be the same for every recipe of a comparison; "
                f"set it for all of them with {where}{f' {key}=...' if where == '--set' else ''}"
            )


def _slug(label: str) -> str:
    return "".join(character if character.isalnum() or character in "+-.=" else "-" for character in label)
