"""How a step of TRL is put to a recipe: what its prompts are called, and what can be told of their rollouts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from winnow.budget import Budget
from winnow.candidates import named_by
from winnow.errors import ConfigError
from winnow.features import hashed
from winnow.recipe import Recipe
from winnow.step import Step

COLUMNS = ("truncated",)
"""What every rank knows of all rollouts beyond reward and length."""


def check_recipe(recipe: Recipe) -> None:
    """Refuse a recipe that needs to know more of rollouts than the ranks share, or continues them.

    Raises:
        ConfigError: it says what is missing.
    """
    if recipe.branches:
        raise ConfigError(
            f"recipe {recipe.name!r} continues rollouts from inside, which TRL's engines cannot; use the embedded "
            "trainer (winnow train), or another recipe"
        )
    missing = [name for name in recipe.needs if name not in COLUMNS]
    if missing:
        raise ConfigError(
            f"recipe {recipe.name!r} needs {', '.join(missing)} of every rollout, which in TRL stay on the rank that "
            "sampled it; use the embedded trainer (winnow train), or another recipe"
        )


def begin(recipe: Recipe, prompts: Sequence[Any], budget: Budget | None, seed: int) -> Step:
    """Begin a step over prompts (texts or lists of messages), which rules remember by their text."""
    texts = [text if isinstance(text, str) else json.dumps(text, sort_keys=True, default=str) for text in prompts]
    features = hashed(texts) if recipe.compares else None
    return recipe.begin(prompts, budget=budget, seed=seed, ids=named_by(texts), features=features)
