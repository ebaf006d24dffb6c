"""The sampling half of a step: choose prompts, begin the recipe's step, collect its rollouts; or leave no trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import numpy as np

from winnow.curriculum import Epochs
from winnow.engine import Sampler
from winnow.errors import SafetyStop, WinnowError
from winnow.features import hashed
from winnow.reward.rescored import Rescored
from winnow.train.collect import Collected, Interrupted, collect
from winnow.train.encoding import Split
from winnow.train.limits import Allowance
from winnow.train.prepare import Setup
from winnow.train.seeds import derive


class Draw:
    """Draws the rollouts of one step after the other.

    Args:
        setup: task, recipe and reward.
        sampler: samples with the policy as it is.
        curriculum: chooses prompts; it moves on only when a step comes about.
        seed: of the run; a step's draws follow from it and the step's number alone.
        note: shows a line to a person; told when the reward judges the first batch differently the second time.
    """

    def __init__(
        self, setup: Setup, sampler: Sampler, curriculum: Epochs, seed: int, note: Callable[[str], None]
    ) -> None:
        self._setup, self._sampler, self._curriculum, self._seed = setup, sampler, curriculum, seed
        self._reward = Rescored(setup.task.reward, note)

    def step(self, number: int, allowance: Allowance, stopped: Callable[[], bool]) -> tuple[Split, Collected]:
        """Return the prompts of step ``number`` that got rollouts, and these.

        Raises:
            Interrupted: ``stopped`` said so; the step is dropped as if it had never begun.
            SafetyStop: the logits are not finite.
        """
        setup, started = self._setup, perf_counter()
        with self._undone_on_error(number):
            before = self._curriculum.state_dict() if setup.recipe.pool > 1 else None
            places = self._curriculum.next(min(allowance.prompts, len(setup.train)))
            split = setup.train.pick(places)
            features = hashed([p.text for p in split.prompts]) if setup.recipe.compares else None
            step = setup.recipe.begin(
                split.prompts,
                budget=allowance.budget,
                seed=derive(self._seed, "decide", number),
                ids=places,
                features=features,
            )
            decided = perf_counter()
            session = self._sampler.session(
                split.encoded, seed=derive(self._seed, "sample", number), forks=setup.recipe.branches
            )
            opened = perf_counter()
            collected = collect(
                step,
                session,
                split.prompts,
                self._reward,
                label=str(number),
                barrier=setup.recipe.barrier,
                stopped=stopped,
            )
            collected.seconds["decide"] += decided - started
            collected.seconds["generate"] += opened - decided
            if before is not None:
                return self._return_spares(before, split, collected)
        return split, collected

    def counters(self) -> dict[str, float]:
        """Return the counters of the reward, such as ``reward_errors``, since the start or the resumption."""
        return self._reward.metrics()

    def _return_spares(self, before: dict[str, object], split: Split, collected: Collected) -> tuple[Split, Collected]:
        """Give prompts that were not looked at back, to come first next time; drop those passed over from the step."""
        batch = collected.batch
        if batch.visited < len(split):
            # The next k prompts begin with the next k - 1: drawing fewer from the same state leaves the tail.
            self._curriculum.load_state_dict(before)
            self._curriculum.next(batch.visited)
        used = np.flatnonzero(batch.counts)
        place = np.full(len(split), -1, np.int64)
        place[used] = np.arange(len(used))
        for rollout in collected.rollouts:
            rollout.prompt = int(place[rollout.prompt])
        batch = replace(batch, prompts=place[batch.prompts], counts=batch.counts[used], signal=batch.signal[used])
        if batch.decisions is not None:
            batch = replace(batch, decisions=replace(batch.decisions, prompts=place[batch.decisions.prompts]))
        return split.pick(used.tolist()), replace(collected, batch=batch)

    @contextmanager
    def _undone_on_error(self, number: int) -> Iterator[None]:
        """Take back what drawing prompts changed when the step does not come about, so that it is drawn again."""
        before = self._curriculum.state_dict(), self._setup.recipe.state_dict()
        try:
            yield
        except (Interrupted, WinnowError, FloatingPointError) as error:
            self._curriculum.load_state_dict(before[0])
            self._setup.recipe.load_state_dict(before[1])
            if isinstance(error, FloatingPointError):
                raise SafetyStop(f"step {number}: {error}") from error
            raise
