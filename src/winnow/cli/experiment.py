"""From the command line to a checked experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winnow.compare import Arm, Experiment
from winnow.compare.runner import nested
from winnow.errors import unknown
from winnow.train import TrainConfig, load_config
from winnow.train.limits import Limits
from winnow.train.prepare import check_recipe

BUDGET = {"rollouts": 12_000, "tokens": 200_000, "seconds": 60}
"""What a run may spend when the command line does not say, by unit."""
EVALUATIONS = 20
"""How many evaluations a run gets about, whatever its steps cost, so that curves are equally fine."""


def build(
    arms: Sequence[Arm],
    config: Path | None,
    given: dict[str, Any],
    seeds: int,
    first_seed: int,
    budget: float | None,
    unit: str,
) -> Experiment:
    """Put the experiment together and check every arm, so that nothing runs when one of them cannot.

    Args:
        arms: as read from the command line.
        config: a TOML file of settings for all arms, or None; its limits and seed are not used.
        given: settings for all arms from the command line; they win over the file.
        seeds: how many.
        first_seed: the first of them.
        budget: what every run may spend; None takes the default of its unit.
        unit: what the budget counts.

    Raises:
        ConfigError: a setting, a recipe or one of its options is unknown or out of range.
    """
    if unit not in BUDGET:
        raise unknown("budget unit", unit, BUDGET)
    shared, _ = load_config(config, given)
    base = _flat(shared.model_dump(mode="json", exclude_unset=True))
    for name in ("steps", "rollouts", "tokens", "seconds", "seed", "out"):
        base.pop(name, None)
    amount = BUDGET[unit] if budget is None else budget
    spend = float(amount) if unit == "seconds" else int(amount)
    draft = Experiment(tuple(arms), tuple(range(first_seed, first_seed + seeds)), base, unit, spend)
    checked = []
    for each in arms:
        settings = TrainConfig(**nested(draft.settings(each, first_seed)))
        every = _eval_every(settings, unit, spend)
        extra = {} if "eval_every" in settings.model_fields_set or every is None else {"eval_every": every}
        checked.append(Arm(each.label, {**each.settings, **extra}))
    return Experiment(tuple(checked), draft.seeds, base, unit, spend)


def _eval_every(settings: TrainConfig, unit: str, budget: float) -> int | None:
    """Return the steps between evaluations, or None where the steps of the run cannot be foreseen."""
    recipe = check_recipe(settings)
    step = Limits.of(settings, recipe.allocation.n).rollouts
    return None if unit != "rollouts" or step is None else max(1, round(budget / step / EVALUATIONS))


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{key}": item for key, item in value.items()})
        else:
            flat[name] = value
    return flat
