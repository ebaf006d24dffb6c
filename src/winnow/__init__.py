"""winnow: reinforcement learning with verifiable rewards that spends rollouts where they teach.

The core asks and tells; it never generates, scores or trains:

    recipe = winnow.recipe("vigor+pods", m=4)
    step = recipe.begin(prompts=16, budget=winnow.Budget(rollouts=128), seed=0)
    while not step.done:
        for prompt, count in step.ask():
            rewards = ...  # draw and score `count` rollouts of this prompt
            step.tell([prompt] * count, rewards)
    batch = step.finish()  # rows to train on, their advantages and weights, and an account of the rest
"""

from importlib import import_module
from types import ModuleType

from winnow import advantage, allocation, curriculum, gating, selection
from winnow.about import About
from winnow.batch import TrainBatch
from winnow.budget import Budget, Ledger
from winnow.recipe import Recipe
from winnow.registry import recipe, register
from winnow.requests import Requests
from winnow.rollout import Prompt, Rollout, Verdict
from winnow.step import Step

from winnow import presets  # noqa: F401  isort: skip  (registers the recipes)

__version__ = "0.1.0"

_LAZY = ("audit", "pilot", "plan", "reward", "task", "testing", "train")

__all__ = [
    "About",
    "Budget",
    "Ledger",
    "Prompt",
    "Recipe",
    "Requests",
    "Rollout",
    "Step",
    "TrainBatch",
    "Verdict",
    "advantage",
    "allocation",
    "curriculum",
    "gating",
    "recipe",
    "register",
    "selection",
]


def __getattr__(name: str) -> ModuleType:
    """Import a part of winnow when it is first used: the core comes without them."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"winnow.{name}")
