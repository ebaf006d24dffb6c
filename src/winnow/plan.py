"""The arithmetic of a run before it starts: sizes of a step, steps of a run, groups without signal.

Batches are counted in prompts. What other trainers call a batch is worked out from that by
`trl_settings` and `verl_settings`, with their rules of divisibility.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError, DataError
from winnow.groups import FloatArray

MOST_PASSES = 1e6
"""More passes over the data than any run makes."""


def no_signal_share(pass_rate: npt.ArrayLike, n: int) -> FloatArray:
    """Return the probability that all of ``n`` independent rollouts pass or all fail, ``p^n + (1-p)^n``.

    Args:
        pass_rate: probabilities of any shape; the result has that shape.
        n: rollouts of the group, at least 1.

    Raises:
        ConfigError: a pass rate is outside [0, 1], or n below 1.
    """
    p = np.asarray(pass_rate, dtype=np.float64)
    if not np.all((p >= 0) & (p <= 1)):
        raise ConfigError(f"pass rate {p.tolist()}: must be between 0 and 1")
    if n < 1:
        raise ConfigError(f"n={n}: must be at least 1")
    share: FloatArray = p**n + (1 - p) ** n
    return share


def no_signal_from_pilot(passed: npt.ArrayLike, drawn: int, n: int) -> FloatArray:
    """Estimate `no_signal_share` of each prompt from a pilot, without bias.

    The share of subsets of n of the ``drawn`` rollouts that tie; plugging an observed pass rate into
    ``p^n + (1-p)^n`` would be biased.

    Args:
        passed: (P,) rollouts that passed, of each prompt.
        drawn: rollouts of each prompt in the pilot, at least n.
        n: rollouts of a group in the run.

    Raises:
        ConfigError: ``drawn`` is below n.
    """
    if drawn < n:
        raise ConfigError(f"a pilot of {drawn} rollouts per prompt cannot tell about groups of {n}; draw {n}")
    total = math.comb(drawn, n)
    counts = [int(count) for count in np.asarray(passed)]
    ties = [(math.comb(count, n) + math.comb(drawn - count, n)) / total for count in counts]
    return np.array(ties, dtype=np.float64)


def optimizer_steps(
    dataset_prompts: int, prompts_per_step: int, epochs: float = 1, *, updates_per_step: int = 1
) -> int:
    """Return the optimiser steps of ``epochs`` passes over the data; n and m play no part in it.

    A last step that would not be full does not run.

    Raises:
        ConfigError: ``epochs`` is not above 0 and at most `MOST_PASSES`.
        DataError: the data does not fill one step, so that nothing would be trained.
    """
    if not 0 < epochs <= MOST_PASSES:
        raise ConfigError(f"{epochs:g} passes over the data: must be above 0 and at most {MOST_PASSES:g}")
    if dataset_prompts < prompts_per_step:
        raise DataError(
            f"{dataset_prompts} prompts cannot fill a step of prompts_per_step={prompts_per_step}: no step would "
            f"run; add rows or set prompts_per_step to at most {max(dataset_prompts, 1)}"
        )
    return int(dataset_prompts * epochs + 1e-9) // prompts_per_step * updates_per_step


def kept_rows(n: int, m: int | float | None) -> int:
    """Return how many of n rollouts train, at most n.

    All for None, ``floor(m n + 1e-9)`` for a share: a float above 0 and at most 1, so that 1.0 is all and 1 is one.
    """
    if m is None:
        return n
    share = isinstance(m, float) and 0 < m <= 1
    return min(n, math.floor(m * n + 1e-9) if share else int(m))


@dataclass(frozen=True)
class StepPlan:
    """Sizes of one step with n rollouts for every prompt.

    Attributes:
        prompts: prompts drawn.
        n: rollouts of each.
        m: rollouts of each that train.
        rollouts: generated, ``prompts * n``.
        rows: trained at most, ``prompts * m``; fewer where groups carry no signal.
        micro_batch: rows of one forward pass, None when the learner chooses.
        micro_steps: forward passes of one update, None when the learner chooses.
        updates: optimiser steps.
    """

    prompts: int
    n: int
    m: int
    rollouts: int
    rows: int
    micro_batch: int | None
    micro_steps: int | None
    updates: int


def step_plan(
    prompts: int,
    n: int,
    m: int | float | None = None,
    *,
    micro_batch: int | None = None,
    epochs: int = 1,
    minibatches: int = 1,
    largest: int | None = None,
) -> StepPlan:
    """Work out the sizes of a step; nothing has to divide anything.

    Args:
        prompts: prompts drawn.
        n: rollouts of each, the mean where the recipe moves them between prompts.
        m: rollouts of each that train, a number or a share; None trains on all.
        micro_batch: rows of one forward pass; None leaves it to the learner.
        epochs: passes over the rows.
        minibatches: optimiser steps of one pass.
        largest: most rollouts one prompt can get; None: n.

    Raises:
        ConfigError: n or the rows kept of it are below 2, or m is above the largest group.
    """
    kept = kept_rows(n, m)
    if n < 2 or kept < 2:
        raise ConfigError(f"n={n}, m={m}: a group needs at least two rollouts to generate and to train on")
    if m is not None and m > (largest or n):
        raise ConfigError(f"m={m} > n={largest or n}: no more rollouts can be trained on than are generated")
    rows = prompts * kept
    micro_steps = None
    if micro_batch is not None:
        parts = [len(part) for part in np.array_split(np.arange(rows), minibatches)]
        micro_steps = epochs * sum(math.ceil(part / micro_batch) for part in parts)
    return StepPlan(prompts, n, kept, prompts * n, rows, micro_batch, micro_steps, epochs * minibatches)


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
