"""What other trainers are expected to make of each recipe, from the recipe's own parts."""

import math

import winnow

LOSSES = {"token": "dapo", "sequence": "grpo", "constant": "dr_grpo"}


def reason(recipe, columns=()):
    """Return a word of the message with which a trainer refuses a recipe, None where it trains it.

    Args:
        recipe: the recipe.
        columns: what the trainer knows of every rollout beyond reward, outcome and length.
    """
    missing = [name for name in recipe.needs if name not in columns]
    return (
        "continues rollouts" if recipe.branches
        else "earlier steps" if recipe.recall is not None
        else f"needs {missing[0]}" if missing
        else "needs longest" if getattr(recipe.advantage, "longest", 0) is None
        else "ratio=" if recipe.objective.ratio != "token"
        else "flow_beta=" if recipe.objective.flow_beta
        else None
    )  # fmt: skip


def settings(name):
    """Return the settings that a recipe cannot do without."""
    return {"longest": 64} if reason(winnow.recipe(name)) == "needs longest" else {}


def trained(recipe):
    """Return how many rollouts of a prompt train, of n."""
    n, m = recipe.allocation.n, recipe.selection.m
    if recipe.selection.name == "all_rows":
        return n
    return min(n, m) if isinstance(m, int) else math.floor(m * n + 1e-9)
