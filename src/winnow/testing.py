"""Checks for a training loop that asks and tells: does the adapter of another framework draw and train the right rows?

Write one function that plays a single step of your loop on a `World` (an imaginary task: every reward and length is
known), and hand it to `check`:

    def play(recipe, world, seed):
        step = recipe.begin(world.prompts, budget=world.budget, seed=seed)
        ...  # your sampler and scorer, with world.reward(prompt, draw) and world.length(prompt, draw)
        return Played(drawn, trained)

    winnow.testing.check(play)

Rollouts may finish in any order. A failed check raises `AssertionError` and says which recipe, world and row.

Recipes that remember prompts are begun with ``ids=range(world.prompts)``, those that compare prompts
(`Recipe.compares`) with ``features=world.features``; those that need columns are told
``**world.columns(recipe.needs, draws)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from winnow.budget import Budget
from winnow.groups import FloatArray
from winnow.recipe import Recipe
from winnow.registry import recipe

RECIPES = ("grpo", "dr-grpo", "rloo", "pods", "vigor", "vigor+pods", "dapo")
"""What `check` runs unless told otherwise."""

Draw = tuple[int, int]
"""A rollout: its prompt, and 0, 1, 2, ... among the rollouts of this prompt."""


@dataclass(frozen=True)
class World:
    """An imaginary task on which every rollout has a known reward and length.

    Attributes:
        name: for messages.
        prompts: how many prompts the step has.
        budget: what it may spend.
        rewards: (prompt, draw) to reward; None is unscorable.
        lengths: (prompt, draw) to generated tokens, 1 or more.
    """

    name: str
    prompts: int
    budget: Budget
    rewards: Callable[[int, int], float | None]
    lengths: Callable[[int, int], int]

    def reward(self, prompt: int, draw: int) -> float | None:
        """Return the reward of a rollout, None if it cannot be scored."""
        return self.rewards(prompt, draw)

    def length(self, prompt: int, draw: int) -> int:
        """Return how many tokens a rollout has."""
        return self.lengths(prompt, draw)

    @property
    def features(self) -> FloatArray:
        """(P, 4) a unit vector per prompt, the same for a prompt number in every world."""
        vectors = np.array([np.random.default_rng((1, prompt)).normal(size=4) for prompt in range(self.prompts)])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float64)

    def columns(self, names: Iterable[str], draws: Sequence[Draw]) -> dict[str, list[Any]]:
        """Return made-up columns of rollouts, by name as in `winnow.columns.COLUMNS`; they depend on the draw alone."""
        return {name: [_facts(*draw)[name] for draw in draws] for name in names}


@dataclass(frozen=True)
class Played:
    """What an adapter did in one step.

    Attributes:
        drawn: every rollout it generated, in any order.
        trained: advantage times weight of each rollout that reached the loss; rows of advantage 0 may be left out.
    """

    drawn: Sequence[Draw]
    trained: Mapping[Draw, float]


Play = Callable[[Recipe, World, int], Played]


def worlds(prompts: int = 12, n: int = 8, seed: int = 0) -> list[World]:
    """Return tasks that tell right from wrong adapters.

    ``graded``: all rewards differ, so the rows that train are unique. ``mixed``: 0/1 rewards at pass rates from 0 to 1.
    ``abstaining``: a fifth of the rollouts is unscorable. ``tied``: no group has signal, nothing may train.
    ``tokens``: graded, under a token budget with lengths that vary.
    """
    rng = np.random.default_rng(seed)
    table = rng.permutation(prompts * 256).reshape(prompts, 256) / 1000
    coins = rng.random((prompts, 256))
    sizes = rng.integers(1, 11, (prompts, 256))
    rates = np.linspace(0, 1, prompts)
    rollouts = Budget(rollouts=prompts * n)

    def graded(prompt: int, draw: int) -> float:
        return float(table[prompt, draw])

    def mixed(prompt: int, draw: int) -> float:
        return float(coins[prompt, draw] < rates[prompt])

    def abstaining(prompt: int, draw: int) -> float | None:
        return None if sizes[prompt, draw] <= 2 else graded(prompt, draw)

    def length(prompt: int, draw: int) -> int:
        return int(sizes[prompt, draw])

    return [
        World("graded", prompts, rollouts, graded, length),
        World("mixed", prompts, rollouts, mixed, length),
        World("abstaining", prompts, rollouts, abstaining, length),
        World("tied", prompts, rollouts, lambda prompt, draw: 0.5, length),
        World("tokens", prompts, Budget(tokens=prompts * n * 5, longest=10), graded, length),
    ]


@lru_cache(maxsize=4096)
def _facts(prompt: int, draw: int) -> dict[str, Any]:
    rng = np.random.default_rng((2, prompt, draw))
    return {
        "answers": "abc"[rng.integers(3)],
        "scores": float(rng.random()),
        "embeddings": tuple(rng.normal(size=3).tolist()),
        "entropy": float(rng.random()),
        "truncated": bool(rng.random() < 0.1),
    }


def reference(rule: Recipe, world: World, seed: int) -> Played:
    """Play a step the plain way: every request is drawn and told at once, in the order asked.

    A rollout that continues another counts among the draws of its prompt.
    """
    features = world.features if rule.compares else None
    step = rule.begin(world.prompts, budget=world.budget, seed=seed, ids=range(world.prompts), features=features)
    drawn: list[Draw] = []
    count: Counter[int] = Counter()
    while not step.done:
        for number, wanted in step.ask():
            fork = step.fork(number)
            prompt = number if fork is None else drawn[fork.row][0]
            draws = [(prompt, draw) for draw in range(count[prompt], count[prompt] + wanted)]
            count[prompt] += wanted
            drawn += draws
            step.tell(
                [number] * wanted,
                [world.reward(*draw) for draw in draws],
                tokens=[world.length(*draw) for draw in draws],
                **world.columns(rule.needs, draws),
            )
    batch = step.finish()
    worth = (batch.advantages * batch.weights).tolist()
    return Played(drawn, {drawn[row]: value for row, value in zip(batch.rows.tolist(), worth, strict=True)})


def check(
    play: Play,
    *,
    recipes: Iterable[str | Recipe] = RECIPES,
    worlds: Iterable[World] | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
) -> None:
    """Hold an adapter against `reference` on every recipe and world.

    The budget is exact: as many rollouts as the reference draws, each once, the draws of a prompt counted from 0, and
    never more tokens than granted. Unscorable rollouts never train. The rows that train, and what they are worth, are
    those of the reference; on 0/1 rewards, where equal rows may stand for each other, their rewards are compared.
    Under a token budget the order of arrival decides what still fits, so there only the limits are checked.

    Args:
        play: plays one step of your loop.
        recipes: names or recipes to run.
        worlds: tasks to run them on; `worlds` of this module by default.
        seed: of every step.
        tolerance: how far advantages may be off, relative and absolute.

    Raises:
        AssertionError: with the recipe, the world and what differs.
    """
    for rule in map(recipe, recipes):
        for world in worlds if worlds is not None else globals()["worlds"]():
            where = f"recipe {rule.name}, world {world.name}"
            played, expected = play(rule, world, seed), reference(rule, world, seed)
            _check_drawn(where, world, played, expected)
            _check_trained(where, world, played)
            if world.budget.tokens is None:
                _check_rows(where, world, played, expected, tolerance)


def _check_drawn(where: str, world: World, played: Played, expected: Played) -> None:
    twice = [draw for draw, times in Counter(played.drawn).items() if times > 1]
    assert not twice, f"{where}: rollout {twice[0]} was drawn more than once"
    per_prompt = Counter(prompt for prompt, _ in played.drawn)
    gap = next((draw for draw in played.drawn if draw[1] >= per_prompt[draw[0]]), None)
    assert gap is None, f"{where}: rollout {gap} was drawn, but prompt {gap[0]} has only {per_prompt[gap[0]]} of them"
    if world.budget.tokens is None:
        assert len(played.drawn) == len(expected.drawn), (
            f"{where}: {len(played.drawn)} rollouts were drawn, the recipe grants {len(expected.drawn)}"
        )
        return
    tokens = sum(world.length(*draw) for draw in played.drawn)
    assert tokens <= world.budget.tokens, f"{where}: {tokens} tokens were generated of {world.budget.tokens} granted"


def _check_trained(where: str, world: World, played: Played) -> None:
    for draw in played.trained:
        assert draw in set(played.drawn), f"{where}: rollout {draw} trains but was never drawn"
        assert world.reward(*draw) is not None, f"{where}: rollout {draw} trains but is unscorable"


def _check_rows(where: str, world: World, played: Played, expected: Played, tolerance: float) -> None:
    found, wanted = _live(played), _live(expected)
    pairs: list[tuple[object, float, float]]
    if _distinct(world, expected):
        missing, extra = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
        assert not missing, f"{where}: rollout {missing[0]} has to train and does not ({len(missing)} in all)"
        assert not extra, f"{where}: rollout {extra[0]} trains and must not ({len(extra)} in all)"
        pairs = [(draw, found[draw], wanted[draw]) for draw in wanted]
    else:
        ours, theirs = (sorted((p, world.reward(p, d), v) for (p, d), v in rows.items()) for rows in (found, wanted))
        assert [row[:2] for row in ours] == [row[:2] for row in theirs], f"{where}: other rewards train than should"
        pairs = [(one[:2], one[2], two[2]) for one, two in zip(ours, theirs, strict=True)]
    for place, value, right in pairs:
        assert abs(value - right) <= tolerance * max(1.0, abs(right)), (
            f"{where}: advantage x weight of {place} is {value:g}, should be {right:g}"
        )


def _live(played: Played) -> dict[Draw, float]:
    return {draw: value for draw, value in played.trained.items() if value != 0.0}


def _distinct(world: World, played: Played) -> bool:
    rewards = [world.reward(*draw) for draw in played.drawn]
    known = [reward for reward in rewards if reward is not None]
    return len(set(known)) == len(known)
