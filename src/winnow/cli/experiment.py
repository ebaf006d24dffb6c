"""From the command line to a checked experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winnow.compare import Arm, Experiment
from winnow.compare.arms import EQUAL, check_equal
from winnow.compare.runner import nested
from winnow.errors import ConfigError, unknown
from winnow.plan.passes import first_pass
from winnow.train import TrainConfig, load_config
from winnow.train.limits import Limits
from winnow.train.prepare import check_recipe, load_task, most_steps

BUDGET = {"rollouts": 12_000, "tokens": 200_000, "seconds": 60}
"""What a run may spend when the command line does not say, by unit."""
PER_RUN = ("steps", "rollouts", "tokens", "seconds", "seed", "out")
"""Settings a comparison decides for each run."""
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
        ConfigError: a setting, a recipe or one of its options is unknown or out of range, or arms would run under
            different conditions, or two of them are the same.
    """
    if unit not in BUDGET:
        raise unknown("budget unit", unit, BUDGET)
    amount = BUDGET[unit] if budget is None else budget
    if not 0 < amount < math.inf:
        raise ConfigError(f"--budget {amount:g}: must be finite and above 0")
    for name in PER_RUN:
        if name in given:
            raise ConfigError(f"{name} of a run is not set with --set in a comparison; use {EQUAL[name]}")
    for each in arms:
        check_equal(each)
    shared, _ = load_config(config, given)
    if shared.eval_prompts < 1:
        raise ConfigError("eval_prompts=0: recipes are compared by held-out accuracy; set it to at least 1")
    base = _flat(shared.model_dump(mode="json", exclude_unset=True))
    for name in PER_RUN:
        base.pop(name, None)
    spend = float(amount) if unit == "seconds" else int(amount)
    draft = Experiment(tuple(arms), tuple(range(first_seed, first_seed + seeds)), base, unit, spend)
    checked = []
    seen: dict[str, str] = {}
    for each in arms:
        settings = TrainConfig(**nested(draft.settings(each, first_seed)))
        same = seen.setdefault(settings.model_dump_json(), each.label)
        if same != each.label:
            raise ConfigError(f"recipes {same!r} and {each.label!r} have the same settings; leave one of them out")
        every = _eval_every(settings, unit, spend)
        extra = {} if "eval_every" in settings.model_fields_set or every is None else {"eval_every": every}
        checked.append(Arm(each.label, {**each.settings, **extra}))
    return Experiment(tuple(checked), draft.seeds, base, unit, spend)


def first_pass_notes(experiment: Experiment) -> list[str]:
    """Return what to say of recipes that remember prompts and may meet none again in a run; the data is read for it.

    Raises:
        DataError: the data of such a recipe cannot be used.
    """
    data, passes = 0, {}
    for arm in experiment.arms:
        config = TrainConfig(**nested(experiment.settings(arm, experiment.seeds[0])))
        recipe = check_recipe(config)
        steps = most_steps(config, recipe)
        if not recipe.remembers or steps is None:
            continue
        data = data or len(load_task(config).train)  # arms have one task
        if found := first_pass(recipe, config.prompts_per_step, steps, data):
            passes[arm.label] = found
    if not passes:
        return []
    each = ", ".join(f"{label} ({found})" for label, found in passes.items())
    return [
        f"recipes that learn from a prompt's earlier visits, in runs that may not come back to any: {each} passes over "
        f"{data:,} prompts; raise --budget for their memory to count"
    ]


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
