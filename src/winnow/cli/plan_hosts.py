"""The part of ``winnow plan`` that is about other trainers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from winnow.errors import ConfigError

if TYPE_CHECKING:
    from winnow.budget import Budget
    from winnow.plan import HostPlan
    from winnow.train import TrainConfig

PLANNED = {
    "recipe", "n", "m", "prompts_per_step", "micro_batch", "epochs", "minibatches", "budget_unit", "rollouts_per_step",
    "tokens_per_step", "task", "task_options", "task_seed", "model", "recipe_options", "rollouts",
}  # fmt: skip
"""Settings that the plan for another trainer contains already, or that are arguments of that trainer."""


def host_names(incomplete: str) -> list[str]:
    """Complete the name of a trainer."""
    from winnow.plan import HOSTS

    return [name for name in HOSTS if name.startswith(incomplete)]


def check_host(host: str | None, pass_rate: list[float] | None, pilot: int | None) -> None:
    """Check the name of a trainer, and that nothing is asked for beside its settings.

    Raises:
        ConfigError: the name is unknown, or pass rates are given.
    """
    from winnow.plan import check_host as check

    if host is None:
        return
    check(host)
    if pass_rate or pilot is not None:
        raise ConfigError("--host prints settings, and pass rates change none: leave out --pass-rate and --pilot")


def asked_for(
    config: TrainConfig, provenance: dict[str, Any], steps: int | None, passes: float | None
) -> dict[str, Any]:
    """Return what was set by hand, beyond what the sizes of a step say.

    Settings left alone are winnow's choice for small models; in another trainer, its own defaults are the better ones.
    """
    found = {
        name: getattr(config, name)
        for name, source in provenance.items()
        if source != "default" and name not in PLANNED and name != "steps" and hasattr(config, name)
    }
    if passes is not None:
        return found | {"passes": passes}
    limited = any(provenance[name] != "default" for name in ("steps", "rollouts"))
    return found | {"steps": steps} if limited else found


def hosts_facts(config: TrainConfig, gpus: int, asked: dict[str, Any], host: str | None) -> dict[str, Any]:
    """Return settings, rules and text for one trainer, or for all: then with the reason where one cannot train it.

    Raises:
        ConfigError: the one trainer would refuse the recipe.
    """
    import winnow
    from winnow.plan import recipe_step, trl_plan, trl_text, verl_plan, verl_text
    from winnow.train.config import recipe_overrides

    changes = dict(recipe_overrides(config))
    recipe = winnow.recipe(config.recipe, **changes)
    passes: dict[str, Any] = {"epochs": config.epochs, "minibatches": config.minibatches}
    step, budget = recipe_step(recipe, config.prompts_per_step, **passes), budget_of(config)
    shape = passes | {"micro_batch": config.micro_batch, "budget": budget, "asked": asked}

    def trl() -> dict[str, Any]:
        found = trl_plan(recipe, step, processes=gpus, **shape)
        return _plain(found, trl_text(found, config.recipe, changes, budget))

    def verl() -> dict[str, Any]:
        found = verl_plan(recipe, step, gpus=gpus, overrides=changes, **shape)
        return _plain(found, verl_text(found))

    makers = {"trl": trl, "verl": verl}
    if host is not None:
        return {"processes": gpus, host: makers[host]()}
    return {"processes": gpus} | {name: _or_refusal(make) for name, make in makers.items()}


def _or_refusal(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return make()
    except ConfigError as refusal:
        return {"refused": str(refusal)}


def budget_of(config: TrainConfig) -> Budget | None:
    """Return what a step may spend where settings say it, else None."""
    from winnow.budget import Budget

    if config.tokens_per_step is None and config.rollouts_per_step is None:
        return None
    return Budget(rollouts=config.rollouts_per_step, tokens=config.tokens_per_step)


def _plain(found: HostPlan, text: str) -> dict[str, Any]:
    return {
        "sizes": found.sizes.settings,
        "settings": found.recipe | found.settings,
        "rules": list(found.sizes.rules),
        "changed": list(found.sizes.changed),
        "limits": list(found.limits),
        "text": text,
    }
