"""A replay from a log to what it says, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import winnow
from winnow.compare.costs import CostModel
from winnow.errors import ConfigError, DataError, unknown
from winnow.recipe import Recipe
from winnow.registry import names
from winnow.replay.advise import BASE, candidates, distinct, options
from winnow.replay.estimate import Estimate, estimate
from winnow.replay.log import Log
from winnow.replay.play import Table, lacking
from winnow.replay.sizes import as_command, at_size_of, sizes_of
from winnow.replay.stream import Shape
from winnow.replay.verdict import verdict

MOST_FURTHER, MANY_FURTHER = 0.5, 0.05
"""Shares of rollouts beyond the log above which a recipe is not reported, and is marked."""
MOST_RAGGED = 2.0


def replay(
    log: Log,
    recipes: Sequence[str | Recipe] | None = None,
    *,
    prompts: int | None = None,
    budget: int | None = None,
    budget_unit: str = "rollouts",
    cost: CostModel | None = None,
    most_further: float = MOST_FURTHER,
    recommend: bool = True,
    effort: float = 3e6,
    seed: int = 0,
    on_progress: Callable[[str], None] = lambda title: None,
) -> dict[str, Any]:
    """Say what recipes would have done with the rollouts of a log.

    Args:
        log: see `winnow.replay.read_log`.
        recipes: what to replay, by name or made; None: all that winnow has, but of those that draw and keep the same
            rollouts only the first, and at the log's n those whose own n the log is too small for. GRPO is always among
            them.
        prompts: prompts per step; None: as logged, or 64 at most where the log has one step.
        budget: what a step may generate; None: each recipe's n per prompt. With a budget in rollouts the
            recommendation spends it with every option.
        budget_unit: ``rollouts`` or ``tokens``.
        cost: prices for seconds, see `winnow.replay.find_cost`.
        most_further: a recipe that needs a larger share of rollouts than this beyond those recorded is skipped.
        recommend: try sizes as well.
        effort: rollouts replayed for intervals in all, about; see `winnow.replay.estimate.estimate`.
        seed: of everything random.
        on_progress: told what is replayed next.

    Returns:
        ``log`` (counts), ``shape``, ``cost``, ``recipes`` (settings, and the figures of
        `winnow.replay.measure.FIGURES`, by name), ``skipped`` (reasons by name), ``advice`` (see
        `winnow.replay.verdict.verdict`; None without ``recommend``, or where GRPO could not be replayed), ``notes``.

    Raises:
        ConfigError: a recipe or setting is unknown or out of range, or a token budget is asked of a log without tokens.
        DataError: no prompt of the log has two rollouts.
    """
    if log.size.max() < 2:
        raise DataError(
            f"the log has one rollout of each of {log.visits:,} groups; a replay needs >= 2 rollouts of a prompt (in a "
            "step): log whole groups, or name what tells prompts apart with --column prompt=NAME"
        )
    if budget is not None and budget < 2:
        raise ConfigError(f"budget={budget}: a step needs at least two rollouts")
    if prompts is not None and prompts < 1:
        raise ConfigError(f"prompts={prompts}: a step needs at least one prompt")
    chosen = [winnow.recipe(each) for each in (BASE, *(names() if recipes is None else recipes))]
    chosen = distinct(chosen) if recipes is None else _without_double(chosen)
    table = Table(log)
    shape = _shape(log, prompts, budget, budget_unit)
    labels = dict(zip(_labels(chosen), chosen, strict=True))
    skipped = {label: reason for label, recipe in labels.items() if (reason := lacking(recipe, log))}
    usable = {label: recipe for label, recipe in labels.items() if label not in skipped}
    spend = (budget if budget_unit == "rollouts" else None) or round(_usual(table, prompts) * len(log) / log.visits)
    sized = candidates(list(usable.values()), table, spend, most_further) if recommend else []
    found: dict[str, Any] = {}
    resized = []

    def attempt(label: str, recipe: Recipe) -> float:
        on_progress(label)
        replayed = estimate(recipe, table, shape, cost=cost, seed=seed, effort=effort / 2 / len(usable))
        further = replayed.figures["further"].value
        if further <= most_further:
            found[label] = _facts(recipe, replayed)
        return further

    for label, recipe in usable.items():
        further = attempt(label, recipe)
        if further <= most_further:
            continue
        smaller = at_size_of(table, recipe)
        if recipes is None and smaller is not None:
            at = f"{recipe.name} {sizes_of(smaller)}"
            if attempt(at, smaller) <= most_further:
                resized.append(f"{at} (its own: {sizes_of(recipe)})")
                continue
        skipped[label] = _too_few(further, table, recipe, smaller)
    advice = None
    if sized:
        by = "per_second" if cost is not None else "per_1000"
        tried = options(
            sized, table, spend, by, most_further=most_further, cost=cost, seed=seed, effort=effort / 2,
            on_progress=on_progress,
        )  # fmt: skip
        found_best = verdict(tried, by, len(sized))
        advice = None if found_best is None else {"budget": spend, **found_best}
    return {
        "log": facts(table),
        "shape": {"prompts": _usual(table, prompts), "budget": budget, "budget_unit": budget_unit},
        "cost": None if cost is None else {"name": cost.name, "note": cost.note},
        "recipes": found,
        "skipped": skipped,
        "advice": advice,
        "notes": [*log.notes, *_resized(resized), *_doubts(table, found)],
    }


@dataclass(frozen=True)
class Needs:
    """What recipes want to know of rollouts beyond rewards and lengths.

    Attributes:
        columns: see `winnow.columns`.
        texts: the texts of the prompts.
    """

    columns: tuple[str, ...]
    texts: bool


def needs(recipes: Sequence[str | Recipe] | None = None) -> Needs:
    """Return what `read_log` should keep for these recipes; None: for all."""
    made = [winnow.recipe(each) for each in (names() if recipes is None else recipes)]
    return Needs(
        tuple(dict.fromkeys(name for each in made for name in (*each.needs, *each.wants))),
        any(each.compares for each in made),
    )


def _without_double(recipes: Sequence[Recipe]) -> list[Recipe]:
    return list({repr(recipe.describe()): recipe for recipe in recipes}.values())


def _labels(recipes: Sequence[Recipe]) -> list[str]:
    """Return names that tell recipes apart: with their sizes where one name stands for several."""
    names = [recipe.name for recipe in recipes]
    sized = [
        name if names.count(name) == 1 else f"{name} {sizes_of(recipe)}"
        for name, recipe in zip(names, recipes, strict=True)
    ]
    return [
        f"{label} #{sized[:place].count(label) + 1}" if label in sized[:place] else label
        for place, label in enumerate(sized)
    ]


def _usual(table: Table, prompts: int | None) -> int:
    return prompts or table.usual


def _facts(recipe: Recipe, replayed: Estimate) -> dict[str, Any]:
    return {
        "n": recipe.allocation.n,
        "m": recipe.selection.m,
        "status": recipe.about.status,
        "steps": replayed.steps,
        "marked": replayed.figures["further"].value > MANY_FURTHER,
        **{name: figure.as_dict() for name, figure in replayed.figures.items()},
    }


def _shape(log: Log, prompts: int | None, budget: int | None, unit: str) -> Shape:
    if unit not in ("rollouts", "tokens"):
        raise unknown("budget unit", unit, ("rollouts", "tokens"))
    if unit == "rollouts" or budget is None:
        return Shape(prompts, rollouts=budget)
    if log.unit != "tokens":
        raise ConfigError(f"a budget of {budget} tokens: the log has no token counts; --column tokens=NAME names them")
    longest = max(1, int(log.tokens.max()))
    if budget < longest:
        raise ConfigError(f"a budget of {budget} tokens: the longest rollout of the log has {longest}")
    return Shape(prompts, tokens=budget, longest=longest)


def facts(table: Table) -> dict[str, Any]:
    """Return what a log holds."""
    log = table.log
    finite = np.isfinite(log.judged)
    return {
        "rollouts": len(log),
        "prompts": log.prompts,
        "steps": len(log.ends),
        "visits": log.visits,
        "per_visit": {"mean": len(log) / log.visits, "least": int(log.size.min()), "most": int(log.size.max())},
        "unscorable": float(1 - finite.mean()),
        "outcome_mean": float(log.judged[finite].mean()),
        "binary": table.belief.model is not None,
        "length_mean": float(log.tokens.mean()) if log.unit else None,
        "length_unit": log.unit or None,
        "notes": list(log.notes),
    }


def _resized(labels: list[str]) -> list[str]:
    return [f"replayed at the size of the log's groups: {'; '.join(labels)}"] if labels else []


def _too_few(further: float, table: Table, recipe: Recipe, smaller: Recipe | None) -> str:
    mean = len(table.log) / table.log.visits
    instead = "lower its n" if smaller is None else f"use --recipe {as_command(smaller)}"
    return (
        f"{further:.0%} of the rollouts it asks for are not in the log, which has {mean:.3g} per prompt: log up to "
        f"{recipe.allocation.largest} of each (winnow pilot --k {recipe.allocation.largest}), or {instead}"
    )


def _doubts(table: Table, found: dict[str, Any]) -> list[str]:
    log, notes = table.log, []
    if log.size.max() > MOST_RAGGED * np.median(log.size):
        notes.append(
            f"prompts have {int(log.size.min())} to {int(log.size.max())} rollouts: a recipe that chose by what it saw "
            "wrote this log, so visits with few rollouts are not like those with many; a log of equal groups tells more"
        )
    marked = [name for name, each in found.items() if each["marked"]]
    if marked:
        whose = "its" if len(marked) == 1 else "their"
        how = (
            "drawn from a model of pass rates fitted to the log"
            if table.belief.model is not None
            else "recorded ones again, so that ties stay ties: no-signal shares are too high"
        )
        notes.append(f"{', '.join(marked)}: more than {MANY_FURTHER:.0%} of {whose} rollouts are {how}")
    if log.visits < 30:
        notes.append(f"{log.visits} groups are few: read the intervals")
    return notes
