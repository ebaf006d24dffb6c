"""One step of the longest prompts and completions the settings allow, to see what it takes."""

from __future__ import annotations

import copy
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from winnow.objective import Row
    from winnow.train import TrainConfig
    from winnow.train.prepare import Setup


def worst_case(config: TrainConfig, setup: Setup) -> dict[str, Any]:
    """Generate a full step that never stops early and train on as many rows as a step may keep.

    Every prompt is replaced by the longest one. The weights in memory change, nothing is saved.

    Returns:
        Counts, tokens, seconds of both phases, and ``peak_memory_mb`` of ``memory_of``: the device on
        CUDA, else the whole process.

    Raises:
        ConfigError: the longest prompt and completion do not fit the model.
    """
    import torch

    from winnow.plan import step_plan

    cuda = setup.model.device.type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(setup.model.device)
    longest = max(setup.train.encoded, key=len)
    allocation, selection = setup.recipe.allocation, setup.recipe.selection
    plan = step_plan(config.prompts_per_step, allocation.n, selection.m, largest=allocation.largest)
    started = perf_counter()
    rows = _generate(config, setup, list(longest), plan.rollouts)[: plan.rows]
    generated = perf_counter()
    _update(config, setup, rows)
    return {
        "rollouts": plan.rollouts,
        "rows": len(rows),
        "prompt_tokens": len(longest),
        "completion_tokens": config.max_new_tokens,
        "generate_seconds": generated - started,
        "update_seconds": perf_counter() - generated,
        **_peak(torch, setup.model.device if cuda else None),
    }


def _generate(config: TrainConfig, setup: Setup, prompt: list[int], rollouts: int) -> list[Row]:
    from winnow.objective import Row
    from winnow.train.prepare import training_sampler

    sampler = training_sampler(config, setup, stop_ids=())
    per_prompt = rollouts // config.prompts_per_step
    session = sampler.session([prompt] * config.prompts_per_step, seed=config.seed)
    session.submit([(index, per_prompt) for index in range(config.prompts_per_step)])
    rows: list[Row] = []
    while finished := session.advance():
        rows += [Row(prompt, rollout.ids, rollout.logprobs, 1.0, 1.0) for rollout in finished]
    # Opposite signs, as in a real group: the size of the update does not matter, its cost does.
    signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    return [Row(row.prompt_ids, row.ids, row.logprobs, float(sign)) for row, sign in zip(rows, signs, strict=True)]


def _update(config: TrainConfig, setup: Setup, rows: list[Row]) -> None:
    from winnow.objective import Learner, Totals

    objective = setup.recipe.objective
    if objective.constant_length is None:
        objective = replace(objective, constant_length=config.max_new_tokens)
    reference = None
    if objective.kl_beta > 0:
        reference = setup.model if config.lora_rank is not None else copy.deepcopy(setup.model)
    learner = Learner(
        setup.model,
        lr=config.lr,
        objective=objective,
        temperature=config.temperature,
        micro_batch=config.micro_batch,
        reference=reference,
    )
    tokens = sum(len(row.ids) for row in rows)
    learner.update(rows, Totals(len(rows), tokens, len(rows), tokens))


def _peak(torch: Any, device: Any) -> dict[str, Any]:
    from winnow.train.summary import peak_memory_mb

    if device is not None:
        return {"peak_memory_mb": torch.cuda.max_memory_allocated(device) / 1e6, "memory_of": "device"}
    return {"peak_memory_mb": peak_memory_mb(), "memory_of": "process"}
