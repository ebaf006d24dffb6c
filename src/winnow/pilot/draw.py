"""Draw and score the rollouts of a pilot, prompt by prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.reward import Item
from winnow.rollout import Prompt, Rollout
from winnow.train.collect import record_of, rollout_id
from winnow.train.seeds import derive

if TYPE_CHECKING:
    from winnow.train import TrainConfig
    from winnow.train.encoding import Split
    from winnow.train.prepare import Setup

BATCH = 64
"""Rollouts scored in one call at least, where as many are there."""


@dataclass(frozen=True)
class Group:
    """All rollouts of one prompt, by draw, each with its verdict."""

    prompt: Prompt
    rollouts: Sequence[Rollout]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of ``rollouts.jsonl``: the fields training writes, and ``answer``, the gold."""
        for rollout in self.rollouts:
            yield {**record_of(0, "pilot", self.prompt, rollout), "selected": False, "fate": "pilot"}


def order(config: TrainConfig, prompts: int) -> list[int]:
    """Return the positions of all prompts in the order a pilot draws them: a random one, by the seed alone.

    A pilot of P prompts draws the first P, so a larger one continues it.
    """
    rows: list[int] = np.random.default_rng(derive(config.seed, "order")).permutation(prompts).tolist()
    return rows


def draw(
    config: TrainConfig,
    setup: Setup,
    chosen: Split,
    k: int,
    wanted: Sequence[int],
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[list[Group]]:
    """Draw k rollouts of each wanted prompt and yield the prompts that are complete, in the order they finish.

    The noise of a rollout follows from the seed, the position of its prompt in ``chosen`` and its draw, so prompts
    left over are drawn later as they would have been now (up to the rounding of the model in other batches).
    Holds the rollouts of the prompts in flight only.

    Args:
        config: temperature, length, slots and seed.
        setup: policy and reward.
        chosen: the prompts of the pilot.
        k: rollouts per prompt.
        wanted: positions in ``chosen`` still to draw, at least one.
        stopped: asked between decoding steps; what is complete by then is still scored and yielded.
    """
    from winnow.train.prepare import training_sampler

    session = training_sampler(config, setup).session(chosen.encoded, seed=derive(config.seed, "sample"))
    left = iter(wanted)
    flying: dict[int, list[Rollout]] = {}
    whole: list[list[Rollout]] = []
    while True:
        while session.queued < config.slots and (position := next(left, None)) is not None:
            session.submit([(position, k)])
        finished = [] if stopped() else session.advance()
        for rollout in finished:
            group = flying.setdefault(rollout.prompt, [])
            group.append(rollout)
            if len(group) == k:
                whole.append(flying.pop(rollout.prompt))
        if whole and (not finished or len(whole) * k >= BATCH):
            yield _scored(setup, chosen, whole)
            whole = []
        if not finished:
            return


def _scored(setup: Setup, chosen: Split, groups: Sequence[list[Rollout]]) -> list[Group]:
    found = [
        Group(chosen.prompts[rollouts[0].prompt], sorted(rollouts, key=lambda rollout: rollout.draw))
        for rollouts in groups
    ]
    pairs = [(group.prompt, rollout) for group in found for rollout in group.rollouts]
    items = [Item(prompt, rollout.text, rollout_id("pilot", prompt, rollout)) for prompt, rollout in pairs]
    for (_, rollout), verdict in zip(pairs, setup.task.reward.score(items), strict=True):
        rollout.verdict = verdict
    return found
