"""The recipes and sizes that a log can speak for at a budget, replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import winnow
from winnow.compare.costs import CostModel
from winnow.errors import ConfigError
from winnow.recipe import Recipe
from winnow.replay.estimate import FEWEST_STEPS, Estimate, estimate, size_of
from winnow.replay.measure import figures
from winnow.replay.play import Table, lacking, play
from winnow.replay.stream import Shape, as_logged

SIZES = (4, 8, 16, 32)
KEPT = (0.25, 0.5)
SHORT = 4
BREADTH = {"per_1000": "groups_per_1000", "per_second": "groups_per_second"}
"""What counts prompts that teach, beside the figure that counts what they teach."""
BROAD = 0.9
"""Losing more than a tenth of the groups with signal is a trade and no gain."""
BASE = "grpo"
DECIDING = ("curriculum", "allocation", "gate", "selection", "signal", "recall")


@dataclass(frozen=True)
class Option:
    """A recipe at sizes that fit the budget.

    Attributes:
        recipe: with its sizes.
        prompts: prompts of a step.
        n: rollouts per prompt, the mean.
        m: rows kept per prompt; None where all are.
        found: its replay.
        base: the others are compared with it.
    """

    recipe: Recipe
    prompts: int
    n: int
    m: int | None
    found: Estimate
    base: bool = False

    @property
    def title(self) -> str:
        """Name and sizes in a few words."""
        kept = "" if self.m is None else f", m={self.m}"
        return f"{self.recipe.name} n={self.n}{kept}"

    def as_dict(self, base: Option, by: str) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "recipe": self.recipe.name,
            "prompts": self.prompts,
            "n": self.n,
            "m": self.m,
            by: self.found.figures[by].as_dict(),
            "ratio": self.found.ratio(base.found, by).as_dict(),
            "breadth": self.found.ratio(base.found, BREADTH[by]).as_dict(),
        }


class Tried(NamedTuple):
    """An option after one pass: its figure, and its groups with signal at the same cost."""

    recipe: Recipe
    shape: Shape
    value: float
    breadth: float


def candidates(names: Sequence[str | Recipe], table: Table, budget: int, most_further: float) -> list[Recipe]:
    """Return recipes at the sizes worth a replay.

    Args:
        names: recipes; each is tried with n in `SIZES` where it can have that mean, and with the parts `KEPT` of n
            where it selects. Of those that decide alike, the first stands for all.
        table: the log.
        budget: rollouts per step.
        most_further: sizes that need a larger share of rollouts beyond the recorded ones are left out.
    """
    recorded = len(table.log) / table.log.visits
    return [
        recipe
        for recipe in distinct(_sized(names, budget))
        if not lacking(recipe, table.log) and 1 - recorded / recipe.allocation.n <= most_further
    ]


def distinct(recipes: Iterable[Recipe]) -> list[Recipe]:
    """Return recipes without those that draw and keep the same rollouts as one before them."""
    found: dict[str, Recipe] = {}
    for recipe in recipes:
        settings = recipe.describe()
        found.setdefault(repr([settings[part] for part in DECIDING]), recipe)
    return list(found.values())


def options(
    recipes: Sequence[Recipe],
    table: Table,
    budget: int,
    by: str,
    *,
    most_further: float,
    cost: CostModel | None,
    seed: int,
    effort: float,
    on_progress: Callable[[str], None] = lambda title: None,
) -> list[Option]:
    """Replay `candidates`, each with the prompts per step that spend the budget, ``budget // n``.

    All run once, on a share of a large log. Those that turn out to need too many further rollouts are left out; of the
    others, the `SHORT` best by a figure, as many that also keep their breadth, and the one to compare with (`baseline`)
    are replayed with intervals, ``effort`` for all of them.
    """
    tried = []
    share = min(1.0, max(effort / len(recipes) / size_of(table), FEWEST_STEPS * budget / len(table.log)))
    for recipe in recipes:
        on_progress(f"{recipe.name} n={recipe.allocation.n}")
        shape = Shape(min(max(1, budget // recipe.allocation.n), table.log.visits))
        rng = np.random.default_rng((seed, 0))
        once = figures(play(recipe.fresh(), table, as_logged(table.log, rng, share), shape, rng), cost)
        if once["further"] <= most_further:
            tried.append(Tried(recipe, shape, once[by], once[BREADTH[by]]))
    tried.sort(key=lambda each: -each.value)
    base = baseline([each.recipe for each in tried], table)
    least = next((BROAD * each.breadth for each in tried if each.recipe is base), 0.0)
    broad = [each for each in tried if each.breadth >= least]
    chosen = [each for each in tried if each in tried[:SHORT] or each in broad[:SHORT] or each.recipe is base]
    found = []
    for recipe, shape, *_ in chosen:
        on_progress(f"{recipe.name} n={recipe.allocation.n}, intervals")
        m = recipe.selection.m if isinstance(recipe.selection.m, int) else None
        replayed = estimate(recipe, table, shape, cost=cost, seed=seed, effort=effort / len(chosen))
        prompts = max(1, budget // recipe.allocation.n)
        found.append(Option(recipe, prompts, recipe.allocation.n, m, replayed, recipe is base))
    return found


def baseline(recipes: Sequence[Recipe], table: Table) -> Recipe | None:
    """Return GRPO at the size nearest to the log's own groups, None if it is not among the recipes."""
    own = len(table.log) / table.log.visits
    plain = [recipe for recipe in recipes if recipe.name == BASE]
    return min(plain, key=lambda recipe: abs(recipe.allocation.n - own), default=None)


def _sized(names: Sequence[str | Recipe], budget: int) -> Iterator[Recipe]:
    for name in names:
        tried = set()
        recipe = winnow.recipe(name)
        for n in (*SIZES, recipe.allocation.n):
            if n > budget or n in tried:
                continue
            tried.add(n)
            selects = recipe.selection.name != "all_rows" and isinstance(recipe.selection.m, int)
            for m in [int(share * n) for share in KEPT] if selects else [None]:
                try:
                    yield winnow.recipe(name, n=n, **({} if m is None else {"m": m}))
                except ConfigError:
                    # Not every mean can be had (VIGOR's rounds), and no m of 1.
                    continue
