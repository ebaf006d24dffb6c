"""Figures of a recipe with intervals: its decisions run again on resampled prompts and draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow.compare.costs import CostModel
from winnow.groups import FloatArray
from winnow.recipe import Recipe
from winnow.replay.measure import COUNTED, figures
from winnow.replay.play import Table, play
from winnow.replay.stream import Shape, as_logged, resampled

LEVEL = 0.95
MOST_PASSES, RESAMPLES = 4, 20
FEWEST_STEPS = 4
POINT = 4
PER_STEP = 1500.0
"""What a replayed step costs beside its rollouts, in rollouts; it only decides how much is resampled."""


@dataclass(frozen=True)
class Figure:
    """A number with its intervals.

    Attributes:
        value: mean over passes through the log.
        low, high: 95% interval of the expectation: prompts are resampled, decisions made again with new draws, and the
            standard error that this shows is taken times Student's t.
        next_low, next_high: 95% interval for what a further run of as many steps will show, which varies by itself too.
    """

    value: float
    low: float
    high: float
    next_low: float
    next_high: float

    def as_dict(self) -> dict[str, float | None]:
        """Return plain values for JSON, None for NaN."""
        return {
            name: None if np.isnan(value) else value
            for name in ("value", "low", "high", "next_low", "next_high")
            if isinstance(value := getattr(self, name), float)
        }


@dataclass(frozen=True)
class Estimate:
    """What a replay found of a recipe.

    Attributes:
        figures: one per name in `winnow.replay.measure.FIGURES`.
        spread: (R, F) the figures of every resample as deviations from their mean, scaled to the whole log.
        share: part of the log that each resample took; resamples of equal shares are the same prompts.
        steps: steps replayed in one pass.
    """

    figures: dict[str, Figure]
    spread: FloatArray
    share: float
    steps: float

    def ratio(self, base: Estimate, name: str) -> Figure:
        """Return the quotient of a figure and that of another recipe.

        Both ran on the same resamples, so their errors are compared pair by pair; where a recipe needed a larger share
        of the log for a step, they are taken as independent.
        """
        column = list(self.figures).index(name)
        ours, theirs = (
            each.spread[:, column] / each.figures[name].value if each.figures[name].value else each.spread[:, column]
            for each in (self, base)
        )
        paired = self.share == base.share and len(ours) == len(theirs)
        error = _error(ours - theirs) if paired else np.hypot(_error(ours), _error(theirs))
        value = self.figures[name].value / base.figures[name].value if base.figures[name].value else float("nan")
        return _figure(value, value * float(error), len(self.spread), np.inf)


def estimate(
    recipe: Recipe,
    table: Table,
    shape: Shape,
    *,
    cost: CostModel | None = None,
    seed: int = 0,
    effort: float = 300_000,
) -> Estimate:
    """Replay a recipe as often as the effort allows.

    Args:
        recipe: what to replay; it is copied for every pass.
        table: the log.
        shape: the size of a step.
        cost: prices for seconds.
        seed: of everything random.
        effort: rollouts to replay for the intervals, about. Where the log is too large for `RESAMPLES` of it, each
            takes a share and its deviations are scaled by the root of the share; where it is larger than `POINT` times
            the effort, so does the estimate itself, of recipes without memory.
    """
    size = size_of(table)
    least = FEWEST_STEPS * (shape.prompts or table.usual) * recipe.pool / table.log.visits
    passes = int(np.clip(effort / 4 // size, 1, MOST_PASSES))
    # What a recipe remembers takes the steps one after the other, all of them.
    part = 1.0 if recipe.remembers else min(1.0, max(POINT * effort / size, least))
    sums = np.zeros(len(COUNTED))
    for number in range(passes):
        rng = np.random.default_rng((seed, 0, number))
        sums += play(recipe.fresh(), table, as_logged(table.log, rng, part), shape, rng)
    value = figures(sums, cost)
    share = min(1.0, max(effort / (RESAMPLES * size), least))
    found = []
    for number in range(RESAMPLES):
        rng = np.random.default_rng((seed, 1, number))
        again = play(recipe.fresh(), table, resampled(table.log, rng, share), shape, rng)
        found.append(list(figures(again, cost).values()))
    spread = np.array(found)
    spread = (spread - spread.mean(axis=0)) * np.sqrt(share / part)
    errors = np.atleast_1d(_error(spread))
    named = {
        name: _figure(each, error, RESAMPLES, 1.0 if name in ("no_signal", "further") else np.inf)
        for (name, each), error in zip(value.items(), errors.tolist(), strict=True)
    }
    named["no_signal"] = _bounded(named["no_signal"], table.log.prompts)
    return Estimate(named, spread, share, sums[0] / passes)


def size_of(table: Table) -> float:
    """Return what one pass through a log costs, in rollouts."""
    return len(table.log) + PER_STEP * table.log.visits / table.usual


def _error(spread: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((spread**2).sum(axis=0) / (len(spread) - 1)))


def _bounded(share: Figure, prompts: int) -> Figure:
    """Widen the interval of a share that no resample moves from 0 or 1: all of P prompts alike have a chance of s^P."""
    if share.high > share.low or share.value not in (0.0, 1.0):
        return share
    reach = float(((1 - LEVEL) / 2) ** (1 / prompts))
    low, high = (reach, 1.0) if share.value else (0.0, 1 - reach)
    return Figure(share.value, low, high, low, high)


def _figure(value: float, error: float, resamples: int, most: float) -> Figure:
    from scipy.stats import t

    reach = float(t.ppf((1 + LEVEL) / 2, resamples - 1)) * error
    ends = (value - reach, value + reach, value - np.sqrt(2) * reach, value + np.sqrt(2) * reach)
    return Figure(value, *(float(np.clip(end, 0.0, most)) for end in ends))
