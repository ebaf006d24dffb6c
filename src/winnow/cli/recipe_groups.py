"""The recipes in the order of the funnel: grouped by the question that each answers in a way of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.recipe import Recipe

GROUPS = {
    "baseline": "what the others are measured against",
    "curriculum": "which prompts a step is about",
    "allocation": "how many rollouts each prompt gets",
    "gate": "which groups enter the update",
    "selection": "which rollouts train",
    "advantage": "what each rollout is worth",
    "objective": "the loss",
    "replay": "rollouts of earlier steps train again",
    "combination": "several of these at once",
}
"""What recipes change, with the question."""

STATUS = {
    "paper": ("=", "the published rule"),
    "decision": ("~", "the published idea, with rules of ours where the source is silent"),
    "experimental": ("?", "a reconstruction: results are not those of the source"),
}
"""Marker and meaning of `winnow.about.About.status`."""

_FOLDERS = {"gating": "gate", "recall": "replay"}
_MAIN = ("curriculum", "allocation", "selection", "replay")


def group_of(recipe: Recipe) -> str:
    """Return the group of a recipe.

    That is the folder of the rule beside which it is declared; for other recipes it follows from the parts in which it
    differs from GRPO: from gate, advantage and objective only where nothing before them differs.
    """
    from winnow.about import DECLARED

    if recipe.name in DECLARED:
        folder = DECLARED[recipe.name][1].__module__.split(".")[1]
        group = _FOLDERS.get(folder, folder)
        if group in GROUPS:
            return group
    changed = _changed(recipe)
    main = [group for group in _MAIN if group in changed]
    if len(main) > 1:
        return "combination"
    return next((group for group in (*main, *GROUPS) if group in changed), "baseline")


def _changed(recipe: Recipe) -> set[str]:
    from winnow.recipe import Recipe

    plain = Recipe()
    changed = {role for role in ("gate", "objective") if getattr(recipe, role) != getattr(plain, role)}
    if recipe.recall is not None:
        changed.add("replay")
    kinds = {
        role for role in ("curriculum", "allocation") if type(getattr(recipe, role)) is not type(getattr(plain, role))
    }
    names = {role for role in ("selection", "advantage") if getattr(recipe, role).name != getattr(plain, role).name}
    return changed | kinds | names


def grouped(recipes: Iterable[Recipe]) -> dict[str, list[Recipe]]:
    """Return recipes by group, in the order of `GROUPS` and inside a group as given; empty groups are left out."""
    found: dict[str, list[Recipe]] = {group: [] for group in GROUPS}
    for recipe in recipes:
        found[group_of(recipe)].append(recipe)
    return {group: members for group, members in found.items() if members}
