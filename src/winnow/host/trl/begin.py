"""How a step of TRL is put to a recipe: what its prompts are called, and what can be told of their rollouts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from winnow.budget import Budget
from winnow.candidates import named_by
from winnow.features import hashed
from winnow.plan.able import check_able
from winnow.recipe import Recipe
from winnow.step import Step


def check_recipe(recipe: Recipe) -> None:
    """Refuse a recipe that needs to know more of rollouts than the ranks share, continues them, or recalls old ones.

    Raises:
        ConfigError: it says what is missing; `winnow.plan.trl_plan` says the same.
    """
    check_able(recipe, "trl")


def begin(recipe: Recipe, prompts: Sequence[Any], budget: Budget | None, seed: int) -> Step:
    """Begin a step over prompts (texts or lists of messages), which rules remember by their text."""
    texts = [text if isinstance(text, str) else json.dumps(text, sort_keys=True, default=str) for text in prompts]
    features = hashed(texts) if recipe.compares else None
    return recipe.begin(prompts, budget=budget, seed=seed, ids=named_by(texts), features=features)
