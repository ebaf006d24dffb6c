"""Sizes of a step and steps of a run; batches are counted in prompts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from winnow.errors import ConfigError, DataError

MOST_PASSES = 1e6
"""More passes over the data than any run makes."""


def check_passes(passes: float) -> None:
    """Refuse passes over the data that no run makes.

    Raises:
        ConfigError: they are not above 0 and at most `MOST_PASSES`.
    """
    if not 0 < passes <= MOST_PASSES:
        raise ConfigError(f"{passes:g} passes over the data: must be above 0 and at most {MOST_PASSES:g}")


def optimizer_steps(
    dataset_prompts: int, prompts_per_step: int, epochs: float = 1, *, updates_per_step: int = 1
) -> int:
    """Return the optimiser steps of ``epochs`` passes over the data; n and m play no part in it.

    A last step that would not be full does not run.

    Raises:
        ConfigError: ``epochs`` is not above 0 and at most `MOST_PASSES`.
        DataError: the data does not fill one step, so that nothing would be trained.
    """
    check_passes(epochs)
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
    return min(n, math.floor(m * n + 1e-9) if _is_share(m) else int(m))


@dataclass(frozen=True)
class StepPlan:
    """Sizes of one step with n rollouts for every prompt, or what a budget makes of them.

    Attributes:
        prompts: prompts drawn.
        n: rollouts of each.
        m: rollouts of each that train.
        rollouts: generated, ``prompts * n`` or what the step may spend.
        rows: trained at most, ``prompts * m`` or as many as are generated; fewer where groups carry no signal.
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
    rollouts: int | None = None,
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
        rollouts: generated in the step; None: n for every prompt.

    Raises:
        ConfigError: n or the rows kept of it are below 2, or m is above the largest group.
    """
    kept = kept_rows(n, m)
    if n < 2 or kept < 2:
        raise ConfigError(f"n={n}, m={m}: a group needs at least two rollouts to generate and to train on")
    if m is not None and m > (largest or n):
        raise ConfigError(
            f"m={m} > n={n}: no prompt has more than {largest or n} rollouts to keep {m} of; lower m or raise n"
        )
    total = prompts * n if rollouts is None else rollouts
    rows = _rows(prompts, kept, m, rollouts)
    micro_steps = None
    if micro_batch is not None:
        parts = [len(part) for part in np.array_split(np.arange(rows), minibatches)]
        micro_steps = epochs * sum(math.ceil(part / micro_batch) for part in parts)
    return StepPlan(prompts, n, kept, total, rows, micro_batch, micro_steps, epochs * minibatches)


def _rows(prompts: int, kept: int, m: int | float | None, rollouts: int | None) -> int:
    if rollouts is None:
        return prompts * kept
    if m is None:
        return rollouts
    return math.floor(m * rollouts + 1e-9) if _is_share(m) else min(prompts * int(m), rollouts)


def _is_share(m: int | float) -> bool:
    return isinstance(m, float) and 0 < m <= 1
