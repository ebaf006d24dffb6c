"""How many rollouts a recipe draws and rows it trains in a step: what a run costs and a host has to make room for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from winnow.plan.sizes import StepPlan, kept_rows, step_plan

if TYPE_CHECKING:
    from winnow.budget import Budget
    from winnow.recipe import Recipe


def selects(recipe: Recipe) -> bool:
    """Return whether a recipe trains on some of the rollouts only."""
    return recipe.selection.name != "all_rows"


def rows_per_prompt(recipe: Recipe) -> int:
    """Return how many rollouts of a prompt train, on average at most: m, or n where all of them do."""
    return kept_rows(recipe.allocation.n, recipe.selection.m if selects(recipe) else None)


def most_rows(recipe: Recipe, budget: Budget | None, prompts: int) -> int:
    """Return the most rows that a step over ``prompts`` prompts can train."""
    allocation, m = recipe.allocation, recipe.selection.m
    drawn = prompts * allocation.n if budget is None else prompts * allocation.largest
    if budget is not None and budget.rollouts is not None:
        drawn = min(drawn, budget.rollouts)
    drawn = math.ceil(drawn * getattr(allocation, "factor", 1.0))
    if not selects(recipe):
        return drawn
    return min(drawn, prompts * m) if isinstance(m, int) else math.floor(m * drawn + 1e-9)


def rollouts_range(recipe: Recipe, prompts: int, budget: Budget | None = None) -> tuple[int, int]:
    """Return the fewest and the most rollouts of a step over ``prompts`` prompts wanted.

    They differ where a recipe replaces prompts by spares: at the least every first prompt completes its n, or every
    spare is given up after what it draws before that is decided. A budget in rollouts cuts both, and less than n
    of it may be left over where a spare is not begun. One above them is left over, except by rules that move rollouts
    between prompts: these spend all of it. One in tokens says nothing here.
    """
    least, most = _wanted(recipe, prompts)
    if budget is None or budget.rollouts is None:
        return least, most
    if _moves(recipe):
        return budget.rollouts, budget.rollouts
    unused = recipe.allocation.n - 1 if _spares(recipe) > 1 else 0
    return min(least, max(1, budget.rollouts - unused)), min(most, budget.rollouts)


def _moves(recipe: Recipe) -> bool:
    return recipe.allocation.largest > recipe.allocation.n


def _spares(recipe: Recipe) -> int:
    return recipe.pool // recipe.oversample


def _wanted(recipe: Recipe, prompts: int) -> tuple[int, int]:
    n, spares = recipe.allocation.n, _spares(recipe)
    if spares == 1:
        return prompts * n, prompts * n
    screened = getattr(recipe.allocation, "initial", None)
    if screened is not None:
        return prompts * min(n, spares * screened), prompts * (spares * screened + n - screened)
    return prompts * min(n, spares * getattr(recipe.allocation, "probe", n)), prompts * spares * n


def recalled_rows(recipe: Recipe, prompts: int) -> int:
    """Return the most rows of earlier steps that train again in a step: k for each prompt."""
    return 0 if recipe.recall is None else prompts * recipe.recall.k


def rows_at_most(recipe: Recipe, step: StepPlan, budget: Budget | None = None) -> int:
    """Return the most rows of a step, recalled ones included."""
    fresh = math.ceil(step.rows * getattr(recipe.allocation, "factor", 1.0))
    return min(fresh, rollouts_range(recipe, step.prompts, budget)[1]) + recalled_rows(recipe, step.prompts)


def recipe_step(
    recipe: Recipe,
    prompts: int,
    *,
    micro_batch: int | None = None,
    epochs: int = 1,
    minibatches: int = 1,
    budget: Budget | None = None,
) -> StepPlan:
    """Return the sizes of a step of a recipe, spares not counted; see `winnow.plan.step_plan`."""
    m = recipe.selection.m if selects(recipe) else None
    rollouts = None
    if budget is not None and budget.rollouts is not None:
        rollouts = budget.rollouts if _moves(recipe) else min(budget.rollouts, prompts * recipe.allocation.n)
    return step_plan(
        prompts,
        recipe.allocation.n,
        m,
        micro_batch=micro_batch,
        epochs=epochs,
        minibatches=minibatches,
        largest=recipe.allocation.largest,
        rollouts=rollouts,
    )
