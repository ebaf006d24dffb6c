"""A simulated run: prompts come up, a recipe decides, pass rates move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import winnow
from winnow.batch import TrainBatch
from winnow.budget import Budget, Ledger
from winnow.errors import BudgetError, ConfigError
from winnow.groups import IntArray
from winnow.recipe import Recipe
from winnow.simulate.engine import Lengths, Slots
from winnow.simulate.pool import Learning, Pool
from winnow.step import Step

POINTS = 11
LARGEST_SEED = 2**31


@dataclass(frozen=True)
class Settings:
    """What all recipes of a simulation share.

    Attributes:
        prompts: prompts per step (a recipe with spares gets as many times more as it asks for).
        steps: steps of the run.
        budget: rollouts a step may generate; None: the recipe's n per prompt.
        lengths: of rollouts.
        slots: of the sampler; None: no clock, which is faster.
        learning: how pass rates move.
        seed: of everything random.
    """

    prompts: int = 64
    steps: int = 50
    budget: int | None = None
    lengths: Lengths = field(default_factory=Lengths)
    slots: int | None = None
    learning: Learning = field(default_factory=Learning)
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("prompts", "steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: use a whole number >= 1")
        if self.budget is not None and self.budget < 2:
            raise ConfigError(f"budget={self.budget}: a step needs at least two rollouts")
        if self.slots is not None and self.slots < 1:
            raise ConfigError(f"slots={self.slots}: a sampler has at least one")

    def check(self, pool: Pool) -> None:
        """Raise ConfigError where a step has more prompts than the pool."""
        if self.prompts > len(pool):
            raise ConfigError(
                f"prompts={self.prompts}: the pool has {len(pool):,}; use --size {self.prompts}, or fewer prompts"
            )


def simulate(
    pool: Pool,
    recipes: Mapping[str, str | Recipe],
    settings: Settings,
    on_step: Callable[[str, int], None] = lambda label, step: None,
) -> dict[str, Any]:
    """Run recipes, each on a copy of the pool and from the same seeds.

    Args:
        pool: the prompts.
        recipes: what to run, by the label it gets in the result.
        settings: sizes.
        on_step: told the label and the number of each step.

    Returns:
        by label: the `Ledger` in sums over steps (``rollouts``, ``trained``, ...); ``budget`` granted and the share of
        it that was ``used``; ``seen``, prompts used up; ``no_signal``, ``pass_rate`` of the whole pool before, after
        and at some steps (``curve``); ``eta`` (see `winnow.simulate.theory`), over the prompts of every step; ``idle``,
        share of slot time, and ``time``, both None without slots; ``decide_us``, microseconds per rollout that the
        recipe's decisions took, which vary from run to run.

    Raises:
        ConfigError: the pool has fewer prompts than a step; or a recipe is unknown or shows what a pool cannot (see
            `unsuited`).
    """
    settings.check(pool)
    return {
        label: _Run(deepcopy(pool), winnow.recipe(given), settings).go(partial(on_step, label))
        for label, given in recipes.items()
    }


def unsuited(recipe: Recipe) -> str:
    """Say why a pool cannot tell about a recipe; an empty string where it can."""
    if recipe.branches:
        return "continues rollouts from inside: a pool knows whole ones only"
    if recipe.recall is not None:
        return "trains rollouts of earlier steps again, which is not simulated"
    if recipe.needs:
        return f"needs {', '.join(recipe.needs)}, which imaginary rollouts do not have"
    return ""


class _Run:
    def __init__(self, pool: Pool, recipe: Recipe, settings: Settings) -> None:
        if reason := unsuited(recipe):
            raise ConfigError(f"recipe {recipe.name!r} {reason}")
        self._pool, self._recipe, self._settings = pool, recipe, settings
        self._rng = np.random.default_rng((settings.seed, 1))
        self._order = np.zeros(0, np.int64)
        self._slots = None if settings.slots is None else Slots(settings.slots)
        self._ledger, self._granted, self._seen, self._decide = Ledger(), 0, 0, 0.0
        self._spread = np.zeros(4)
        self._curve: list[dict[str, float]] = []

    def go(self, on_step: Callable[[int], None]) -> dict[str, Any]:
        settings, pool = self._settings, self._pool
        before = float(pool.rates().mean())
        shown = set(np.linspace(1, settings.steps, min(POINTS, settings.steps)).astype(int).tolist())
        for number in range(1, settings.steps + 1):
            on_step(number)
            prompts = self._candidates()
            batch = self._step(prompts)
            self._account(prompts, batch)
            pool.learn(settings.learning, prompts, batch)
            if number in shown:
                ledger = batch.ledger
                self._curve.append(
                    {
                        "step": number,
                        "pass_rate": float(pool.rates().mean()),
                        "no_signal": ledger.no_signal_groups / max(1, ledger.groups),
                        "trained": ledger.trained,
                    }
                )
        return self._facts(before)

    def _candidates(self) -> IntArray:
        wanted = min(self._settings.prompts * self._recipe.pool, len(self._pool))
        if len(self._order) < wanted:
            # What is left of an epoch is too little for a step; it may come up again early in the next.
            self._order = self._rng.permutation(len(self._pool))
        return self._order[:wanted]

    def _step(self, prompts: IntArray) -> TrainBatch:
        budget = None if self._settings.budget is None else Budget(rollouts=self._settings.budget)
        seed = int(self._rng.integers(LARGEST_SEED))
        begun = perf_counter()
        step = self._recipe.begin(len(prompts), budget=budget, seed=seed, ids=prompts)
        self._decide += perf_counter() - begun
        assert step.budget.rollouts is not None
        self._granted += step.budget.rollouts
        drawn = np.zeros(len(prompts), np.int64)
        while not self._timed_done(step):
            # A rule that waits for whole waves gains nothing from results one by one.
            streaming = self._slots is not None and not self._recipe.barrier
            self._ask(step, prompts, drawn, self._slots.free if self._slots and streaming else None)
            self._tell(step, streaming)
        begun = perf_counter()
        batch = step.finish()
        self._decide += perf_counter() - begun
        return batch

    def _timed_done(self, step: Step) -> bool:
        begun = perf_counter()
        done = step.done
        self._decide += perf_counter() - begun
        return done

    def _ask(self, step: Step, prompts: IntArray, drawn: IntArray, limit: int | None) -> None:
        begun = perf_counter()
        requests = step.ask(limit)
        self._decide += perf_counter() - begun
        counts = np.zeros(len(prompts), np.int64)
        np.add.at(counts, requests.prompts, requests.counts)
        where = np.repeat(np.arange(len(prompts)), counts)
        order = drawn[where] + np.arange(len(where)) - (np.cumsum(counts) - counts)[where]
        drawn += counts
        rewards = self._pool.draw(prompts[where], order, self._rng)
        lengths = self._settings.lengths.draw(len(where), self._rng)
        if self._slots is None:
            self._told = where, rewards, lengths
        else:
            self._slots.submit(where, rewards, lengths)

    def _tell(self, step: Step, streaming: bool) -> None:
        where, rewards, lengths = self._told if self._slots is None else self._slots.advance(not streaming)
        if not len(where):
            raise BudgetError(f"recipe {self._recipe.name!r} waits for results, but every result is told")
        begun = perf_counter()
        step.tell(where, rewards, tokens=lengths)
        self._decide += perf_counter() - begun

    def _account(self, prompts: IntArray, batch: TrainBatch) -> None:
        self._ledger.add(batch.ledger)
        self._seen += batch.visited
        self._order = self._order[max(1, batch.visited) :]
        u, n = self._pool.variance(prompts), batch.counts
        used = n > 0
        self._spread += [float(n @ u), float(n.sum()), float(u[used].sum()), int(used.sum())]

    def _facts(self, before: float) -> dict[str, Any]:
        ledger = self._ledger.as_dict()
        del ledger["seconds"]
        weighted, rollouts, plain, groups = self._spread.tolist()
        return {
            **ledger,
            "n": self._recipe.allocation.n,
            "steps": self._settings.steps,
            "budget": self._granted,
            "used": self._ledger.rollouts / self._granted,
            "seen": self._seen,
            "no_signal": self._ledger.no_signal_groups / max(1, self._ledger.groups),
            "pass_rate": {"before": before, "after": float(self._pool.rates().mean())},
            "curve": self._curve,
            "eta": (weighted / rollouts) / (plain / groups) if plain else None,
            "idle": None if self._slots is None else self._slots.idle,
            "time": None if self._slots is None else self._slots.now,
            "decide_us": 1e6 * self._decide / max(1, self._ledger.rollouts),
        }
