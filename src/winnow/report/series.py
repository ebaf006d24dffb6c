"""Reductions of a run's columns for drawing: moving means, bins of steps, group sizes by pass rate."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from winnow.report.run import Floats, Run, number

BINS = 40
PASS_RATE_BINS = ("none", "≤ ¼", "≤ ½", "≤ ¾", "< 1", "all")


def smooth(values: Floats, span: int | None = None) -> Floats:
    """Return a centred moving mean of ``values`` (S,); ``span`` defaults to a twelfth of the run.

    The window shrinks at both ends instead of padding, so the first and last points stay true.
    """
    count = len(values)
    half = (span if span is not None else max(1, count // 12)) // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(count)
    reach = np.minimum(half, np.minimum(places, count - 1 - places))
    result: Floats = (sums[places + reach + 1] - sums[places - reach]) / (2 * reach + 1)
    return result


def binned(*columns: Floats, bins: int = BINS) -> tuple[Floats, ...]:
    """Average columns of equal length (S,) over at most ``bins`` runs of neighbouring steps."""
    parts = np.array_split(np.arange(len(columns[0])), min(bins, len(columns[0])))
    return tuple(np.array([column[part].mean() for part in parts]) for column in columns)


def sizes_by_pass_rate(run: Run) -> dict[str, list[int]]:
    """Group the logged rollouts by step and prompt; return group sizes by bin of their pass rate.

    Judged on the outcome where one was logged, else on the reward (right means at least 1). Groups
    without a scorable rollout are left out, and so are bins without a group. Nothing is returned when
    only a part of the rollouts was logged.
    """
    if run.config.get("log_rollouts", "all") != "all":
        return {}
    tallies: dict[tuple[object, object], list[float]] = defaultdict(list)
    for rollout in run.rollouts():
        verdict = number(rollout.get("outcome"))
        verdict = number(rollout.get("reward")) if verdict is None else verdict
        if verdict is not None:
            tallies[rollout.get("step"), rollout.get("prompt_id")].append(float(verdict >= 1))
    sizes: dict[str, list[int]] = {name: [] for name in PASS_RATE_BINS}
    for passes in tallies.values():
        rate = float(np.mean(passes))
        place = 0 if rate == 0 else len(PASS_RATE_BINS) - 1 if rate == 1 else 1 + min(3, int(rate * 4 - 1e-9))
        sizes[PASS_RATE_BINS[place]].append(len(passes))
    return {name: found for name, found in sizes.items() if found}
