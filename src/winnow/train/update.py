"""The update of a step: the learner, its rows, and what is kept of an update that failed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from winnow.objective import Learner, Row, UpdateStats
from winnow.rollout import Rollout
from winnow.train.collect import Collected
from winnow.train.config import TrainConfig
from winnow.train.encoding import Split
from winnow.train.logs import write_json
from winnow.train.prepare import Setup
from winnow.train.seeds import derive


def build_learner(config: TrainConfig, setup: Setup) -> Learner:
    """Put the optimiser on the policy, with a reference where the objective has a divergence term."""
    objective = setup.recipe.objective
    reference = None
    if objective.needs_reference:
        # With adapters the base model under them is the reference; a copy would hold the same weights twice.
        reference = setup.model if config.lora_rank is not None else copy.deepcopy(setup.model)
    return Learner(
        setup.model,
        lr=config.lr,
        weight_decay=config.weight_decay,
        betas=config.betas,
        warmup_steps=config.warmup_steps,
        max_grad_norm=config.max_grad_norm,
        epochs=config.epochs,
        minibatches=config.minibatches,
        micro_batch=config.micro_batch,
        objective=objective,
        temperature=config.temperature,
        reference=reference,
        schedule=config.lr_schedule,
        total_steps=setup.limits.total_updates(config.epochs * config.minibatches)
        if config.lr_schedule == "cosine"
        else None,
        seed=derive(config.seed, "minibatches"),
    )


def rows_of(split: Split, collected: Collected) -> list[Row]:
    """Return the rows the learner trains on: ids and log-probabilities as sampled, advantages of the batch."""
    batch, rollouts = collected.batch, collected.rollouts
    return [
        Row(
            beginning(split, rollouts[row]),
            rollouts[row].ids,
            rollouts[row].logprobs,
            batch.per_token(place),
            float(weight),
        )
        for place, (row, weight) in enumerate(zip(batch.rows.tolist(), batch.weights, strict=True))
    ]


def beginning(split: Split, rollout: Rollout) -> Sequence[int]:
    """Return the ids before a rollout's own: its prompt, and what it continues, which trains where it was drawn."""
    prompt = split.encoded[rollout.prompt]
    return prompt if rollout.prefix is None else [*prompt, *rollout.prefix.tolist()]


def dump(folder: Path, step: int, rows: Sequence[Row], stats: UpdateStats) -> None:
    """Write the rows of an update that was not finite to ``step-000123.json``, for whoever looks for the cause."""
    folder.mkdir(exist_ok=True)
    kept = [
        {
            "prompt_ids": list(row.prompt_ids),
            "ids": row.ids,
            "logprobs": row.logprobs,
            "advantage": np.asarray(row.advantage).tolist(),
            "weight": row.weight,
        }
        for row in rows
    ]
    write_json(folder / f"step-{step:06d}.json", {"step": step, "loss": str(stats.loss), "rows": kept})
