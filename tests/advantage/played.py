"""Steps of recipes that need further columns: every rollout gets made-up answers, scores and embeddings."""

from collections import Counter

import numpy as np

from winnow import Recipe
from winnow.batch import TrainBatch
from winnow.testing import World, reference, worlds


def columns(names, count, rng) -> dict:
    """Return made-up columns of ``count`` rollouts."""
    made = {
        "answers": [str(number) for number in rng.integers(0, 3, count)],
        "scores": rng.random(count),
        "embeddings": rng.normal(size=(count, 3)),
        "entropy": rng.random(count),
        "truncated": rng.random(count) < 0.1,
    }
    return {name: made[name] for name in names}


def play(recipe: Recipe, world: World, seed: int = 0) -> tuple[TrainBatch, list]:
    """Play a step of an imaginary task, told in the order asked; return its batch and the (prompt, reward) told."""
    rng = np.random.default_rng(seed)
    step = recipe.begin(world.prompts, budget=world.budget, seed=seed, ids=range(world.prompts))
    drawn: Counter = Counter()
    told = []
    while not step.done:
        for prompt, wanted in step.ask():
            draws = range(drawn[prompt], drawn[prompt] + wanted)
            drawn[prompt] += wanted
            rewards = [world.reward(prompt, draw) for draw in draws]
            tokens = [world.length(prompt, draw) for draw in draws]
            step.tell([prompt] * wanted, rewards, tokens=tokens, **columns(recipe.needs, wanted, rng))
            told += [(prompt, reward) for reward in rewards]
    return step.finish(), told


def check_worlds(recipe: Recipe, *, tied: bool = False) -> None:
    """Play every world: all is finite, no unscorable row trains, nor (unless ``tied``) one where rewards are equal."""
    for world in worlds():
        for seed in range(3):
            batch, told = play(recipe.fresh(), world, seed)
            if not recipe.needs:
                again = reference(recipe.fresh(), world, seed)
                assert len(again.drawn) == len(told)
                assert sorted(again.trained.values()) == sorted((batch.advantages * batch.weights).tolist())
            assert np.isfinite(batch.advantages).all() and np.isfinite(batch.weights).all()
            assert all(told[row][1] is not None for row in batch.rows)
            assert [told[row][0] for row in batch.rows] == batch.prompts.tolist()
            if world.budget.rollouts is not None:
                assert len(told) == world.budget.rollouts or batch.reason
            if world.name == "tied" and not tied:
                assert batch.ledger.trained == 0
            if world.name == "graded":
                assert batch.ledger.trained > 0
