"""The table of a comparison as rows of text, for the terminal and for the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow.compare.result import CENSORING, CURRENCIES, ArmResult, Comparison
from winnow.compare.statistics import Estimate

HEADER = ("recipe", "rollouts", "rows", "tokens", "seconds", "final", "vs first")


@dataclass(frozen=True)
class Cell:
    """A number and, under it, its interval or a remark."""

    value: str
    under: str = ""


def rows(comparison: Comparison) -> list[list[Cell]]:
    """Return one row of cells per arm, in the columns of `HEADER`."""
    return [_row(arm, first=place == 0) for place, arm in enumerate(comparison.arms)]


def notes(comparison: Comparison) -> list[str]:
    """Return what a reader has to know to read the table."""
    rule = "the best mean accuracy of the first recipe" if comparison.automatic else "as given"
    found = [
        f"Rollouts, rows (rollouts trained on), tokens and seconds to reach {comparison.target:.1%} held-out "
        f"accuracy ({rule}): {CENSORING}.",
        f"Seconds: {comparison.cost.note}.",
        "Below each number: 95% bootstrap interval over seeds (+: it leaves the budget) and, where some are "
        "missing, the seeds that arrived; 'vs first' pairs equal seeds.",
    ]
    if any(len(arm.curves) < 3 for arm in comparison.arms):
        found.append("With fewer than 3 seeds the intervals mean nothing.")
    failed = [f"{arm.label} {arm.failed}" for arm in comparison.arms if arm.failed]
    if failed:
        found.append(f"Stopped by a safety limit and left out: {', '.join(failed)}.")
    return found


def _row(arm: ArmResult, *, first: bool) -> list[Cell]:
    count = len(arm.curves)
    gain = arm.gain
    return [
        Cell(arm.label, f"{count} seed{'s' if count != 1 else ''}"),
        *(reach(arm.reach[currency]) for currency in CURRENCIES),
        Cell(f"{arm.final.value:.1%}", f"{100 * arm.final.low:.1f}–{100 * arm.final.high:.1f}"),
        Cell("")
        if first or not gain.seeds
        else Cell(f"{100 * gain.value:+.1f} pt", f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}"),
    ]


def reach(estimate: Estimate) -> Cell:
    """Return a cost to the target as a cell: its median, and under it the interval and who got there."""
    reached = estimate.seeds - estimate.censored
    under = []
    if np.isfinite(estimate.low):
        low, open_end = _count(estimate.low), np.isinf(estimate.high)
        under.append(f"{low}+" if open_end else f"{low}–{_count(estimate.high)}")
    if estimate.censored:
        under.append(f"{reached}/{estimate.seeds} seeds")
    if np.isnan(estimate.value):
        return Cell("unmeasured")
    return Cell(_count(estimate.value) if np.isfinite(estimate.value) else "> budget", "\n".join(under))


def _count(value: float) -> str:
    """Write a count in at most six characters: 7.4, 740, 7,402, 74.0k, 1.25M."""
    if value < 100:
        return f"{value:.1f}"
    if value < 10_000:
        return f"{value:,.0f}"
    return f"{value / 1e3:.3g}k" if value < 1e6 else f"{value / 1e6:.3g}M"
