"""A coordinator and prompts that run under it in one process, finishing in an order of the test's choosing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from winnow.budget import Budget
from winnow.host.verl.coordinator import Coordinator, Progress
from winnow.host.verl.decision import Decision
from winnow.host.verl.play import Report
from winnow.host.verl.setup import Setup
from winnow.recipe import Recipe

Score = Callable[[int, int], Report]
"""(prompt, session) to what came of it."""


@dataclass
class Run:
    """What happened: every session run, the most in flight at once, and what was decided."""

    ran: list[tuple[int, int]] = field(default_factory=list)
    most: int = 0
    decision: Decision | None = None
    progress: Progress | None = None


def setup(recipe: Recipe, prompts: int, budget: Budget | None = None, seed: int = 0) -> Setup:
    """Settings for a step over ``prompts`` prompts, spares included."""
    assert prompts % recipe.pool == 0
    return Setup(recipe=recipe, prompts=prompts // recipe.pool, budget=budget, seed=seed)


def uid(prompt: int) -> str:
    return f"uid-{prompt:03d}"


async def play(
    coordinator: Coordinator,
    prompts: int,
    score: Score,
    *,
    number: int = 1,
    order: np.random.Generator | None = None,
    workers: int = 4,
    silent: Sequence[int] = (),
    lose: str | None = None,
) -> Run:
    """Run one step: every prompt is a task of its own, as in a worker of verl.

    Args:
        coordinator: under test.
        prompts: of the step.
        score: what comes of a rollout.
        number: of the step.
        order: draws how long a rollout takes; None: all take equally long.
        workers: prompt p belongs to worker p % workers.
        silent: prompts that take their first rollouts and never come back.
        lose: worker to lose once the silent ones have taken theirs.
    """
    run, flying, taken = Run(), 0, asyncio.Event()
    quiet = len(silent)

    async def session(prompt: int, number_of: int) -> Report:
        nonlocal flying
        flying += 1
        run.most = max(run.most, flying)
        run.ran.append((prompt, number_of))
        for _ in range(0 if order is None else int(order.integers(0, 20))):
            await asyncio.sleep(0)
        flying -= 1
        return score(prompt, number_of)

    async def one(prompt: int) -> None:
        nonlocal quiet
        reports: list[Report] = []
        while sessions := await coordinator.next(number, uid(prompt), reports):
            if prompt in silent:
                run.ran += [(prompt, each) for each in sessions]
                quiet -= 1
                if quiet == 0:
                    taken.set()
                return
            try:
                reports = list(await asyncio.gather(*(session(prompt, each) for each in sessions)))
            except Exception as error:  # a fault of the test itself: do not wait for it forever
                await coordinator.fail(number, error)
                raise

    await coordinator.open(number, {uid(prompt): f"worker {prompt % workers}" for prompt in range(prompts)})
    shuffled = range(prompts) if order is None else order.permutation(prompts).tolist()
    tasks = [asyncio.create_task(one(prompt)) for prompt in shuffled]
    if lose is not None:
        await taken.wait()
        await coordinator.lose(lose)
    run.progress = await coordinator.wait(number, 30)
    while not run.progress.closed:
        run.progress = await coordinator.wait(number, 30)
    await asyncio.gather(*tasks)
    run.decision = await coordinator.finish(number)
    return run
