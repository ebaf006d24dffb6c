"""Steps of any recipe on the worlds of `winnow.testing`, told in any order, and runs of several steps."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

import winnow
from winnow import Recipe
from winnow.batch import TrainBatch
from winnow.curriculum.epochs import Epochs
from winnow.testing import Draw, World, worlds
from winnow.train.checkpoint import _pack, _unpack


def named(name: str) -> Recipe:
    """Return a recipe by name, with the settings that it cannot do without."""
    recipe = winnow.recipe(name)
    return recipe.override(longest=10) if "longest" in recipe.settings() else recipe


def world(name: str) -> World:
    """Return a world of `winnow.testing` by name, with its rewards in [0, 1] and its outcomes on both sides of 0.5."""
    found = {each.name: each for each in worlds()}[name]
    if name not in ("graded", "abstaining", "tokens"):
        return found

    def quarter(prompt: int, draw: int) -> float | None:
        # A power of two: no digit of a reward is lost.
        reward = found.reward(prompt, draw)
        return None if reward is None else reward / 4

    return replace(found, rewards=quarter)


@dataclass(frozen=True)
class Done:
    """A finished step: the rollouts in the order told, and its batch."""

    drawn: list[Draw]
    batch: TrainBatch

    @property
    def worth(self) -> dict[Draw, float]:
        """Advantage times weight of each row that teaches."""
        values = (self.batch.advantages * self.batch.weights).tolist()
        rows = zip(self.batch.rows.tolist(), values, strict=True)
        return {self.drawn[row]: value for row, value in rows if value != 0}


def play(recipe: Recipe, task: World, seed: int = 0, *, ids=None, features=True, shuffle=None, change=None, **told):
    """Play a step, wave by wave.

    Args:
        recipe: what to play; what it remembers changes.
        task: the world; rollouts of prompt i are those of prompt ``ids[i]``.
        seed: of the step.
        ids: prompts by the numbers of the world, in the order offered; all of them where left out.
        features: whether prompts come with vectors.
        shuffle: seed of another order within each wave, told in pieces.
        change: applied to the rewards (float array) before they are told.
        **told: ``verdicts=True`` tells outcomes of 0 or 1 beside the rewards.
    """
    ids = list(range(task.prompts)) if ids is None else list(ids)
    given = task.features[ids] if features and recipe.compares else None
    step = recipe.begin(len(ids), budget=task.budget, seed=seed, ids=ids, features=given)
    random = None if shuffle is None else np.random.default_rng(shuffle)
    drawn: list[Draw] = []
    count: Counter[int] = Counter()
    while not step.done:
        wave = []
        for number, wanted in step.ask():
            fork = step.fork(number)
            prompt = ids[number] if fork is None else drawn[fork.row][0]
            wave += [(number, (prompt, count[prompt] + k)) for k in range(wanted)]
            count[prompt] += wanted
        assert wave, "the step is not done and asks for nothing although every rollout was told"
        if random is not None:
            wave = [wave[place] for place in random.permutation(len(wave))]
        pieces = 1 if random is None else min(3, len(wave))
        for piece in np.array_split(np.arange(len(wave)), pieces):
            numbers, draws = zip(*(wave[place] for place in piece), strict=True)
            rewards = np.array([np.nan if task.reward(*draw) is None else task.reward(*draw) for draw in draws])
            verdicts = (rewards > 0.375).astype(float) if told.get("verdicts") else None
            step.tell(
                list(numbers),
                rewards if change is None else change(rewards),
                None if verdicts is None else np.where(np.isfinite(rewards), verdicts, np.nan),
                tokens=[task.length(*draw) for draw in draws],
                **task.columns((*recipe.needs, *recipe.wants), list(draws)),
            )
            drawn += draws
    return Done(drawn, step.finish())


def coins(pool: int, *, seed: int = 0, most: int = 64):
    """A pool of prompts with success rates from 0 to 1: the world of one step has all of them."""
    tosses = np.random.default_rng((3, seed)).random((pool, most))
    rates = np.linspace(0, 1, pool)
    return lambda step, budget: World(
        "coins",
        pool,
        budget,
        lambda prompt, draw: float(tosses[prompt, (draw + 7 * step) % most] < rates[prompt]),
        lambda prompt, draw: 1 + (5 * prompt + 3 * draw + step) % 9,
    )


def run(recipe: Recipe, steps: range, *, pool: int = 40, wanted: int = 4, epochs: Epochs | None = None) -> list:
    """Play steps over a pool; return for each what was drawn, what trained, and what was recalled."""
    epochs = epochs or Epochs(pool, seed=0)
    task = coins(pool)
    found = []
    for step in steps:
        before = epochs.state_dict()
        ids = epochs.next(wanted * recipe.pool)
        done = play(recipe, task(step, None), seed=100 + step, ids=ids)
        if done.batch.visited < len(ids):
            epochs.load_state_dict(before)
            epochs.next(max(1, done.batch.visited))
        again = done.batch.recalled
        found.append((ids, done.drawn, done.worth, None if again is None else again.handles.tolist()))
    return found


def through_json(state):
    """Return a state as a checkpoint gives it back."""
    return json.loads(json.dumps(state, default=_pack), object_hook=_unpack)
