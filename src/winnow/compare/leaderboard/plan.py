"""What a leaderboard runs: every recipe on every task and seed, and the runs that choose its learning rate.

A recipe keeps its own sizes; only prompts per step follow from them, so that a step begins with about ``step``
rollouts. A recipe with groups larger than `LARGEST` gets groups of `LARGEST`, and keeps the share of them that it
trains on (at least `FEWEST` rows, or what it keeps anyway if that is fewer): otherwise its steps would hold a handful
of prompts. A recipe that draws further prompts within a step may spend more in it, and takes fewer steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import winnow
from winnow.errors import ConfigError, WinnowError, unknown

Stage = Literal["tune", "probe", "final"]

ONCE = ("narrow", "middle", "wide")
"""The built-in task, pass rates of its prompts close together, apart, and far apart; a run meets no prompt twice."""
OFTEN = tuple(f"{task}-often" for task in ONCE)
"""The same with few prompts, to which a run comes back several times: what is remembered of them can matter."""
FEW = 160
"""Prompts to train on where a run comes back to them: `BASELINE` opens 480 in a run."""

_SPREADS = dict(zip(ONCE, (0.0, 0.5, 1.0), strict=True))
TASKS: Mapping[str, Mapping[str, Any]] = {
    **{task: {"task": "mix", "task_options.spread": _SPREADS[task]} for task in ONCE},
    **{
        often: {"task": "mix", "task_options.spread": _SPREADS[task], "task_options.train_size": FEW}
        for task, often in zip(ONCE, OFTEN, strict=True)
    },
}

BASELINE = "grpo"
QUESTIONS = ("curriculum", "allocation", "selection", "recall", "gate")
"""What makes a family, the first one that differs: early in the funnel, and before gates, which many methods add."""
LARGEST, FEWEST = 16, 4

COMMON: Mapping[str, Any] = {
    "checkpoint_every": 0,
    "log_rollouts": "none",
    # A recipe that finds no signal has spent its rollouts all the same: that is its result, not a failure.
    "max_no_signal_steps": 1_000_000,
}


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes:
        stage: ``"tune"`` chooses a rate, ``"probe"`` measures gradients at a rate of 0, ``"final"`` is the result.
        recipe: its name.
        task: a name in `TASKS`.
        seed: of the run.
        lr: learning rate.
        settings: training settings, keys inside tables dotted.
        digest: of the settings and of all that the recipe says of itself: a changed recipe never meets its old runs.
    """

    stage: Stage
    recipe: str
    task: str
    seed: int
    lr: float
    settings: Mapping[str, Any]
    digest: str

    @property
    def name(self) -> str:
        """Path of its record below the folder of the leaderboard."""
        recipe = "".join(c if c.isalnum() or c in "+-." else "-" for c in self.recipe)
        return f"{self.stage}/{self.task}/{recipe}/seed-{self.seed}-lr-{self.lr:g}-{self.digest}.json"


@dataclass(frozen=True)
class Plan:
    """Recipes, tasks, seeds and sizes.

    Attributes:
        recipes: names, `BASELINE` among them.
        tasks: names in `TASKS`.
        seeds: number of evaluation seeds: 0, 1, ...
        rollouts: what every run generates.
        grid: learning rates tried, the same for every recipe.
        tuning_rollouts: what every tuning run generates.
        tuning_seeds: seeds of the runs that choose among them; none of them is an evaluation seed.
        step: rollouts a step begins with.
        evaluations: evaluations during a final run, besides the one before it.
        eval_prompts: held-out prompts of an evaluation, two completions each.
        probe_steps: steps over which the gradient noise is measured.
    """

    recipes: tuple[str, ...]
    tasks: tuple[str, ...] = ONCE
    seeds: int = 5
    rollouts: int = 3840
    grid: tuple[float, ...] = (7.5e-5, 1.5e-4, 3e-4)
    tuning_rollouts: int = 2560
    tuning_seeds: tuple[int, ...] = (100,)
    step: int = 128
    evaluations: int = 3
    eval_prompts: int = 256
    probe_steps: int = 16

    def __post_init__(self) -> None:
        if BASELINE not in self.recipes:
            raise ConfigError(f"the leaderboard compares with {BASELINE}: add it to the recipes")
        for task in self.tasks:
            if task not in TASKS:
                raise unknown("task of the leaderboard", task, TASKS)
        if not self.tasks or self.seeds < 1 or not self.grid or not self.tuning_seeds:
            raise ConfigError("a leaderboard takes at least one task, one seed, one rate and one tuning seed")
        if min(self.rollouts, self.tuning_rollouts) < 2 * self.step:
            raise ConfigError(
                f"{self.rollouts} rollouts a run, {self.tuning_rollouts} in tuning: give at least two steps, "
                f"{2 * self.step}"
            )
        if min(self.tuning_seeds) < self.seeds:
            raise ConfigError(f"tuning seeds {self.tuning_seeds} meet the evaluation seeds 0 to {self.seeds - 1}")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for ``plan.json``."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Plan:
        """Read what `as_dict` wrote."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in found.items() if name in known
        }
        return cls(**values)

    def tuning(self, recipe: str) -> list[Cell]:
        """Return the runs that choose the rate of a recipe: every rate on every task and tuning seed."""
        return [
            self._cell("tune", recipe, task, seed, lr)
            for task in self.tasks
            for seed in self.tuning_seeds
            for lr in self.grid
        ]

    def probes(self, recipe: str) -> list[Cell]:
        """Return the runs that measure a recipe's gradients at the weights all runs begin with, one per task."""
        return [self._cell("probe", recipe, task, self.tuning_seeds[0], 0.0) for task in self.tasks]

    def finals(self, recipe: str, lr: float) -> list[Cell]:
        """Return the runs that count, one per seed and task, seed by seed."""
        return [self._cell("final", recipe, task, seed, lr) for seed in range(self.seeds) for task in self.tasks]

    def interleaved(self, rates: Mapping[str, float]) -> Iterator[Cell]:
        """Yield the runs that count seed by seed over all recipes, so that an early end leaves whole pairs."""
        by_recipe = [self.finals(recipe, lr) for recipe, lr in rates.items()]
        for group in zip(*by_recipe, strict=True):
            yield from group

    def _cell(self, stage: Stage, recipe: str, task: str, seed: int, lr: float) -> Cell:
        sizes = shape(recipe, self.step)
        steps = max(1, self.rollouts // self.step)
        settings: dict[str, Any] = {**COMMON, **TASKS[task], "recipe": recipe, **sizes, "seed": seed, "lr": lr}
        if stage == "probe":
            settings |= {"steps": self.probe_steps, "eval_prompts": 0, "max_grad_norm": 1e9}
        else:
            settings |= {"eval_prompts": self.eval_prompts, "eval_samples": 2}
            settings["rollouts"] = self.tuning_rollouts if stage == "tune" else self.rollouts
            settings["eval_every"] = 0 if stage == "tune" else max(1, steps // self.evaluations)
        return Cell(stage, recipe, task, seed, lr, settings, digest(settings, recipe))


def digest(settings: Mapping[str, Any], recipe: str) -> str:
    """Return eight digits that change with the settings and with anything the recipe says of itself."""
    text = json.dumps([settings, _described(recipe)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def shape(name: str, step: int) -> dict[str, Any]:
    """Return ``prompts_per_step``, and ``n`` and ``m`` where they differ from the recipe's own; see the module.

    Empty where the recipe cannot be built: its run then says why.
    """
    try:
        recipe = winnow.recipe(name)
        n, m = recipe.allocation.n, recipe.selection.m
        changed: dict[str, Any] = {}
        if n > LARGEST:
            changed["n"] = LARGEST
            if isinstance(m, int) and recipe.selection.name != "all_rows":
                changed["m"] = max(min(m, FEWEST), round(m * LARGEST / n))
            winnow.recipe(name, **changed)
    except WinnowError:
        return {}
    return {**changed, "prompts_per_step": max(2, round(step / changed.get("n", n)))}


def differs(name: str) -> tuple[str, ...]:
    """Return the questions that a recipe answers differently from `BASELINE`, in the order of `QUESTIONS`.

    The size of a group is no question of its own. Empty for recipes that only change what a rollout is worth, or the
    loss.
    """
    try:
        ours, base = winnow.recipe(name).describe(), winnow.recipe(BASELINE).describe()
    except WinnowError:
        return ("unknown",)
    return tuple(key for key in QUESTIONS if _rule(ours[key]) != _rule(base[key]))


def family(name: str) -> str:
    """Return the first of the questions a recipe answers differently, or ``"advantage or loss"``."""
    return "baseline" if name == BASELINE else next(iter(differs(name)), "advantage or loss")


def remembering() -> tuple[str, ...]:
    """Return the recipes that learn about prompts from visit to visit, the baseline first."""
    from winnow import registry

    return (BASELINE, *(name for name in registry.names() if winnow.recipe(name).remembers))


def names(given: Sequence[str]) -> tuple[str, ...]:
    """Return the recipes to rank, the baseline first; none given are all that are registered.

    Raises:
        ConfigError: a name is not registered.
    """
    from winnow import registry

    for name in given:
        if name not in registry.names():
            raise unknown("recipe", name, registry.names())
    return tuple(dict.fromkeys([BASELINE, *(given or registry.names())]))


def _rule(part: Any) -> Any:
    return {key: value for key, value in part.items() if key != "n"} if isinstance(part, dict) else part


def _described(name: str) -> Any:
    try:
        return winnow.recipe(name).describe()
    except WinnowError:
        return None
