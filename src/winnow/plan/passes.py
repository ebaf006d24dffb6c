"""How often a run comes back to a prompt: what recipes that remember prompts live on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.recipe import Recipe


def passes_range(recipe: Recipe, prompts: int, steps: float, data: int) -> tuple[float, float]:
    """Return the fewest and the most passes over the data that a run makes.

    They differ where a step takes more prompts to hand than it trains: those it passes over, or opens in place of
    others, count as visited; those it does not look at come again.

    Args:
        recipe: the recipe.
        prompts: prompts of a step.
        steps: steps of the run.
        data: prompts to train on, at least 1.
    """
    return steps * prompts / data, steps * min(prompts * recipe.pool, data) / data


def passes_text(least: float, most: float) -> str:
    """Return passes over the data in words, as ``0.6`` or ``0.6 to 1.8``."""
    low, high = f"{least:.3g}", f"{most:.3g}"
    return low if low == high else f"{low} to {high}"


def first_pass(recipe: Recipe, prompts: int, steps: float | None, data: int) -> str | None:
    """Return the passes of a run in words, where a recipe learns from earlier visits and it may not come back to any.

    None where it does, where the recipe does not remember prompts, or where nobody knows the steps.

    Args:
        recipe: the recipe.
        prompts: prompts of a step.
        steps: steps of the run; None where nobody knows.
        data: prompts to train on, at least 1.
    """
    if steps is None or not recipe.remembers:
        return None
    least, most = passes_range(recipe, prompts, steps, data)
    return None if least > 1 else passes_text(least, most)


def first_pass_note(recipe: Recipe, prompts: int, steps: float | None, data: int) -> str | None:
    """Return a warning where `first_pass` finds that a memory may have no effect, else None; it takes the same."""
    passes = first_pass(recipe, prompts, steps, data)
    if passes is None:
        return None
    return (
        f"recipe {recipe.name} learns from a prompt's earlier visits; this run makes {passes} passes over the data: "
        f"{prompts} prompts a step open all {data:,} once in {-(-data // prompts):,} steps"
    )
