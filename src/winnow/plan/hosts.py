"""The settings of other trainers that train the rows of a plan, with their rules of divisibility."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from winnow.plan.sizes import StepPlan


@dataclass(frozen=True)
class HostSettings:
    """The settings of another trainer that train the same rows.

    Attributes:
        settings: its names and values.
        rules: what divides what, with the numbers filled in.
        changed: what had to differ from the plan to keep them.
    """

    settings: dict[str, Any]
    rules: tuple[str, ...]
    changed: tuple[str, ...] = ()


def trl_settings(
    plan: StepPlan, *, processes: int = 1, minibatches: int = 1, epochs: int = 1, micro_batch: int | None = None
) -> HostSettings:
    """Return `trl.GRPOConfig` settings for a plan, with ``num_generations`` set to m.

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
    prompts, changed = _raised(plan.prompts, processes * minibatches, "processes x minibatches")
    local = prompts // processes * plan.m
    per_update = local // minibatches
    batch = _divisor(per_update, micro_batch or plan.micro_batch or plan.m)
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


def verl_settings(
    plan: StepPlan, *, gpus: int = 1, minibatches: int = 1, epochs: int = 1, micro_batch: int | None = None
) -> HostSettings:
    """Return verl settings for a plan: ``rollout.n`` is m, what is trained; n travels as ``__rollout_n__``.

    verl counts ``train_batch_size`` and ``ppo_mini_batch_size`` in prompts and multiplies by
    ``rollout.n``; rows that do not divide over the GPUs are padded, which these settings avoid.

    Args:
        plan: the step.
        gpus: data-parallel size.
        minibatches: optimiser steps of one pass over the rows.
        epochs: passes over the rows.
        micro_batch: rows of a forward pass at most; None takes the plan's, else one group.
    """
    # Rows of a mini-batch have to divide over the GPUs; raising prompts by whole mini-batches does it.
    unit = minibatches * (gpus // math.gcd(gpus, plan.m))
    prompts, changed = _raised(plan.prompts, unit, "minibatches x gpus / gcd(gpus, m)")
    mini = prompts // minibatches
    local = mini * plan.m // gpus
    settings = {
        "data.train_batch_size": prompts,
        "actor_rollout_ref.rollout.n": plan.m,
        "__rollout_n__": plan.n,
        "actor_rollout_ref.actor.ppo_mini_batch_size": mini,
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": _divisor(
            local, micro_batch or plan.micro_batch or plan.m
        ),
        "actor_rollout_ref.actor.ppo_epochs": epochs,
        "trainer.use_v1": True,
    }
    rules = (
        f"{prompts} prompts = {minibatches} x ppo_mini_batch_size {mini}",
        f"mini-batch rows {mini} x rollout.n {plan.m} = {mini * plan.m}, a multiple of {gpus} GPUs",
        f"{local} rows per GPU and mini-batch, a multiple of the micro-batch",
    )
    return HostSettings(settings, rules, changed)


def _raised(prompts: int, unit: int, what: str) -> tuple[int, tuple[str, ...]]:
    legal = math.ceil(prompts / unit) * unit
    if legal == prompts:
        return prompts, ()
    return legal, (f"prompts {prompts} -> {legal}, the next multiple of {unit} ({what})",)


def _divisor(number: int, most: int) -> int:
    return max(size for size in range(1, min(number, most) + 1) if number % size == 0)
