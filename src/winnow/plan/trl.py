"""What a recipe asks of `trl.GRPOConfig`; `winnow.host.trl` checks the same. Imports neither torch nor TRL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from winnow.errors import ConfigError
from winnow.objective.config import Objective
from winnow.plan.able import check_able, check_loss
from winnow.plan.hosts import HostPlan, HostSettings, largest_divisor, raised, translated
from winnow.plan.rows import most_rows
from winnow.plan.sizes import StepPlan

if TYPE_CHECKING:
    from winnow.budget import Budget
    from winnow.recipe import Recipe

LOSS_TYPES = {"token": "dapo", "sequence": "grpo", "constant": "dr_grpo"}
OBJECTIVE = {"clip_low": "epsilon", "clip_high": "epsilon_high", "clip_dual": "delta", "kl_beta": "beta"}
RUN = {
    "lr": "learning_rate",
    "lr_schedule": "lr_scheduler_type",
    "warmup_steps": "warmup_steps",
    "weight_decay": "weight_decay",
    "max_grad_norm": "max_grad_norm",
    "temperature": "temperature",
    "max_new_tokens": "max_completion_length",
    "steps": "max_steps",
    "passes": "num_train_epochs",
    "seed": "seed",
}


def trl_settings(
    plan: StepPlan, *, processes: int = 1, minibatches: int = 1, epochs: int = 1, micro_batch: int | None = None
) -> HostSettings:
    """Return the sizes of a step in `trl.GRPOConfig`, with ``num_generations`` set to m.

    TRL checks that m divides the generation batch over all processes; groups stay whole only when it
    also divides the rows of each process, which is asked for here. Prompts are raised to the next multiple of
    ``processes * minibatches`` where they are not one.

    Args:
        plan: the step.
        processes: data-parallel processes.
        minibatches: optimiser steps of one pass over the rows.
        epochs: passes over the rows.
        micro_batch: rows of a forward pass at most; None takes the plan's, else one group.
    """
    prompts, changed = raised(plan.prompts, processes * minibatches, "processes x minibatches")
    local = prompts // processes * plan.m
    per_update = local // minibatches
    batch = largest_divisor(per_update, micro_batch or plan.micro_batch or plan.m)
    slices = local // batch
    settings = {
        "num_generations": plan.m,
        "per_device_train_batch_size": batch,
        "steps_per_generation": slices,
        "gradient_accumulation_steps": slices // minibatches,
        "num_iterations": epochs,
    }
    rules = (
        f"rows per process {batch} x {slices} = {local}, a multiple of num_generations = m = {plan.m}",
        f"generation batch {batch} x {slices} x {processes} processes = {local * processes} = "
        f"{prompts} prompts x {plan.m}",
        f"rows per optimiser step {batch} x {slices // minibatches} x {processes} = {per_update * processes}",
    )
    return HostSettings(settings, rules, changed)


def trl_objective(objective: Objective) -> dict[str, Any]:
    """Return every setting of `GRPOConfig` that an objective decides; ``constant_length`` only where it is set.

    Raises:
        ConfigError: TRL has no such loss.
    """
    check_loss(objective, "trl")
    found: dict[str, Any] = {"loss_type": LOSS_TYPES[objective.aggregation]}
    found |= {setting: getattr(objective, field) for field, setting in OBJECTIVE.items()}
    if objective.constant_length is not None:
        found["max_completion_length"] = objective.constant_length
    return found


def objective_settings(objective: Objective) -> dict[str, Any]:
    """Return the settings of `GRPOConfig` for whatever in an objective differs from winnow's default.

    What is at its default asks for nothing: the user's ``loss_type``, ``beta`` and ``epsilon`` stand.

    Raises:
        ConfigError: TRL has no such loss.
    """
    default = trl_objective(Objective())
    return {
        name: value for name, value in trl_objective(objective).items() if name not in default or value != default[name]
    }


def check_weight(recipe: Recipe, beta: float) -> None:
    """Refuse weights of groups beside a divergence, which TRL adds to the loss unweighted.

    Raises:
        ConfigError: the recipe weighs groups and ``beta`` is not 0.
    """
    if recipe.weight != "rollout" and beta:
        raise ConfigError(
            f"weight={recipe.weight!r} multiplies the loss of a row, and TRL's divergence term (beta={beta}) "
            "cannot be multiplied: use beta=0.0 or weight='rollout'"
        )


def check_room(recipe: Recipe, budget: Budget | None, prompts: int, each: int) -> None:
    """Refuse a step that could train more rows than TRL's batch of ``prompts * each`` holds.

    Raises:
        ConfigError: the message names both numbers.
    """
    if (most := most_rows(recipe, budget, prompts)) > prompts * each:
        raise ConfigError(
            f"up to {most} rows could train, {prompts} prompts x num_generations={each} = {prompts * each} fit in the "
            "batch: lower the budget, or let the recipe select, as winnow.recipe('vigor+pods', m=...)"
        )


def trl_plan(
    recipe: Recipe,
    plan: StepPlan,
    *,
    processes: int = 1,
    minibatches: int = 1,
    epochs: int = 1,
    micro_batch: int | None = None,
    budget: Budget | None = None,
    asked: Mapping[str, Any] | None = None,
) -> HostPlan:
    """Return everything that TRL has to be told to run a recipe.

    Args:
        recipe: the recipe.
        plan: sizes of its step.
        processes: as for `trl_settings`.
        minibatches: as for `trl_settings`.
        epochs: as for `trl_settings`.
        micro_batch: as for `trl_settings`.
        budget: of a step; None takes n rollouts per prompt.
        asked: settings of the run by their name in `winnow.train.TrainConfig`, and ``passes`` over the data.

    Raises:
        ConfigError: `winnow.host.trl.WinnowGRPOTrainer` would refuse the recipe.
    """
    check_able(recipe, "trl")
    sizes = trl_settings(plan, processes=processes, minibatches=minibatches, epochs=epochs, micro_batch=micro_batch)
    per_process = sizes.settings["per_device_train_batch_size"] * sizes.settings["steps_per_generation"]
    check_weight(recipe, recipe.objective.kl_beta)
    check_room(recipe, budget, per_process * processes // plan.m, plan.m)
    objective = trl_objective(recipe.objective) | {"scale_rewards": "group"}
    run, lost = _run(asked or {}, plan)
    if (length := objective.get("max_completion_length")) and run.get("max_completion_length", length) != length:
        lost += (f"max_completion_length is constant_length = {length}, because dr_grpo divides by it",)
    return HostPlan(sizes, objective, run, limits=(*_limits(recipe, plan.m, processes, minibatches), *lost))


def _run(asked: Mapping[str, Any], plan: StepPlan) -> tuple[dict[str, Any], tuple[str, ...]]:
    run, lost = translated(asked, RUN)
    if run.get("warmup_steps") and run.get("lr_scheduler_type") == "constant":
        run["lr_scheduler_type"] = "constant_with_warmup"
    if "max_steps" in run:
        run["max_steps"] *= plan.updates
    return run, lost


def _limits(recipe: Recipe, m: int, processes: int, minibatches: int) -> tuple[str, ...]:
    objective = recipe.objective
    return tuple(
        line
        for line, holds in (
            (f"prompts of a step: multiples of {processes * minibatches} only", processes * minibatches > 1),
            (f"with evaluation: per_device_eval_batch_size x {processes} has to be a multiple of num_generations_eval, "
             f"by default {m}", True),
            (f"spare prompts ({recipe.pool - 1} for each) come from a shuffle of their own, so the dataset cannot be "
             "streamed", recipe.pool > 1),
            ("dr_grpo divides by max_completion_length", objective.aggregation == "constant"),
            (f"kl_clamp={objective.kl_clamp:g}: TRL does not clamp the divergence", objective.kl_beta > 0),
        )
        if holds
    )  # fmt: skip
