"""Which parts of a recipe exclude each other; every message names the two and says what to change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from winnow.columns import needed
from winnow.errors import ConfigError
from winnow.selection.base import rows_to_keep

if TYPE_CHECKING:
    from winnow.recipe import Recipe


def check(recipe: Recipe) -> None:
    """Refuse combinations that would run and mean something else than they say.

    At most one part decides how many rollouts a prompt gets: the allocation. Curricula and gates only veto, selection
    only drops (selection.md, 17.4). Beyond that:

    - a selection that ranks advantages takes them from whole groups, so ``stats`` is ``"full"``;
    - an advantage that finds signal in groups of equal rewards (``own_signal = True``) cannot stand behind a gate that
      removes them;
    - a part with a method ``check_with(recipe)`` says itself what it does not go with.

    Raises:
        ConfigError: the two parts in conflict.
    """
    selection, advantage = recipe.selection, recipe.advantage
    if "advantages" in needed(selection) and recipe.stats == "kept":
        raise ConfigError(
            f"selection {selection.name} ranks advantages over whole groups, stats='kept' computes them over what it "
            "keeps: set stats='full'"
        )
    if getattr(advantage, "own_signal", False) and recipe.gate == "zero_signal":
        raise ConfigError(
            f"advantage {advantage.name} learns from groups of equal rewards, gate zero_signal removes them: set "
            "gate='none'"
        )
    if recipe.objective.flow_beta > 0 and recipe.gate == "zero_signal":
        raise ConfigError(
            "objective flow_beta pulls groups of equal rewards towards the reference, gate zero_signal removes them: "
            "set gate='none'"
        )
    recall = recipe.recall
    if recall is not None and needed(advantage):
        raise ConfigError(
            f"advantage {advantage.name} needs {', '.join(needed(advantage))} of every rollout, recall keeps rewards "
            "alone: set recall=None, or another advantage"
        )
    if recall is not None and recall.mixing == "mixed" and recipe.stats == "full":
        raise ConfigError(
            "recall with mixing='mixed' computes advantages over kept and stored rows, stats='full' over whole groups: "
            "set mixing='split', or stats='kept'"
        )
    m = selection.m
    if isinstance(m, float) and m < 1 and recipe.stats == "kept":
        most = rows_to_keep(m, recipe.allocation.largest)
        if most < 2:
            least = math.ceil(200 / recipe.allocation.largest) / 100
            raise ConfigError(
                f"m={m:g} of at most n={recipe.allocation.largest} rollouts of a prompt keeps {most}, and one trained "
                f"rollout has no group to compare with: set m to 2 or more, a share of at least {least:g}, or raise n"
            )
    for part in (recipe.curriculum, recipe.allocation, recipe.gate, selection, advantage):
        own = getattr(part, "check_with", None)
        if own is not None:
            own(recipe)
