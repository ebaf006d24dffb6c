"""Ranks of mean scores, with bootstrap intervals over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow.compare.statistics import LEVEL, Estimate, resample
from winnow.report.run import Floats

RESAMPLES = 4000


def ranks(scores: Floats) -> Floats:
    """Return ranks along the last axis, 1 for the largest score.

    Equal scores share the mean of their ranks; a NaN has rank NaN and counts for nobody. O(R^2) for R scores.
    """
    above = (scores[..., None, :] > scores[..., :, None]).sum(axis=-1)
    level = (scores[..., None, :] == scores[..., :, None]).sum(axis=-1)
    return np.where(np.isnan(scores), np.nan, above + (level + 1) / 2.0)


def standings(scores: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> list[Estimate]:
    """Return the rank of each recipe's mean score over seeds.

    Args:
        scores: (R, S) by recipe and seed; NaN where a run is missing.
        resamples: bootstrap samples of seeds. The seeds drawn are the same for all recipes, which keeps pairs paired.
        seed: of the resampling.

    A recipe without any run gets NaN. A resample that holds none of a recipe's seeds takes the mean of all it has.
    """
    return _estimates(ranks(_means(scores)), _drawn(scores, resamples, seed), np.isfinite(scores).sum(axis=1))


def mean_ranks(tables: Sequence[Floats], *, resamples: int = RESAMPLES, seed: int = 0) -> list[Estimate]:
    """Return the mean over tasks of each recipe's rank; NaN where a recipe is missing on a task.

    Args:
        tables: one (R, S) per task, recipes in the same order. Recipes missing anywhere are ranked nowhere.
        resamples: bootstrap samples; seeds are drawn anew for each task, whose runs are independent.
        seed: of the resampling.
    """
    whole = np.all([np.isfinite(table).any(axis=1) for table in tables], axis=0)
    kept = [np.where(whole[:, None], table, np.nan) for table in tables]
    value = np.mean([ranks(_means(table)) for table in kept], axis=0)
    drawn = np.mean([_drawn(table, resamples, seed + place) for place, table in enumerate(kept)], axis=0)
    return _estimates(value, drawn, np.min([np.isfinite(table).sum(axis=1) for table in tables], axis=0))


def _drawn(scores: Floats, resamples: int, seed: int) -> Floats:
    """Return ranks (B, R) of the means over resampled seeds."""
    places = resample(scores.shape[1], resamples, seed)
    drawn_RB = _means(scores[:, places])
    return ranks(np.where(np.isnan(drawn_RB), _means(scores)[:, None], drawn_RB).T)


def _means(scores: Floats) -> Floats:
    """Return the means of the finite values along the last axis; NaN where there is none."""
    known = np.isfinite(scores)
    count = known.sum(axis=-1)
    total = np.where(known, scores, 0.0).sum(axis=-1)
    means: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def _estimates(value: Floats, drawn: Floats, seeds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Estimate]:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0, method="inverted_cdf")
    return [Estimate(float(v), float(a), float(b), int(s)) for v, a, b, s in zip(value, low, high, seeds, strict=True)]
