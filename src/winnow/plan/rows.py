"""How many rows a recipe trains: what a trainer with batches of fixed size has to make room for."""

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


def recipe_step(
    recipe: Recipe, prompts: int, *, micro_batch: int | None = None, epochs: int = 1, minibatches: int = 1
) -> StepPlan:
    """Return the sizes of a step of a recipe; see `winnow.plan.step_plan`."""
    m = recipe.selection.m if selects(recipe) else None
    return step_plan(
        prompts,
        recipe.allocation.n,
        m,
        micro_batch=micro_batch,
        epochs=epochs,
        minibatches=minibatches,
        largest=recipe.allocation.largest,
    )
