"""The figure of a run whose allocation says why: who got rollouts, why prompts were closed, what it taught."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow.decisions import CLOSED
from winnow.report import style
from winnow.report.bars import size_bars
from winnow.report.run import Floats, Run, number
from winnow.report.series import binned, smooth

BELIEF_BINS = ("≤ ⅕", "≤ ⅖", "≤ ⅗", "≤ ⅘", "≤ 1")


@style.styled
def decisions(run: Run) -> Any:
    """Who got rollouts by what was believed of them, why prompts were closed, and what a rollout taught."""
    x, shares, taught = closings(run)
    if not len(x):
        return None
    figure, (left, middle, right) = style.canvas(1, 3, size=(10.6, 3.5))
    left.set_title("Who got them")
    by_belief = sizes_by_belief(run)
    size_bars(left, by_belief, style.PALETTE[0])
    left.set_xlabel("pass rate expected, number of prompts")
    middle.set_title("Why they got no more")
    colours = {"contrast": style.PALETTE[0], "solved": "#9CCFBC", "no success": "#D9A38A", "out of budget": style.FAINT}
    steps, *columns = binned(x, *shares.values())
    middle.stackplot(steps, *columns, labels=list(shares), colors=[colours[name] for name in shares], linewidth=0)
    middle.set_ylim(0, 1)
    middle.set_xlim(steps[0], steps[-1] if steps[-1] > steps[0] else steps[0] + 1)
    style.percent(middle.yaxis)
    middle.set_ylabel("prompts (%)")
    middle.legend(loc="lower right", reverse=True, fontsize=8, framealpha=0.85, frameon=True)
    right.set_title("What a rollout taught")
    right.plot(x, taught, color=style.PALETTE[0])
    right.set_ylim(bottom=0)
    right.set_ylabel("effect per rollout")
    for axes in (middle, right):
        axes.set_xlabel("rollouts generated")
        style.counts(axes.xaxis)
    return figure


def closings(run: Run) -> tuple[Floats, dict[str, Floats], Floats]:
    """Return (S,) over the steps that say why: rollouts generated, shares of closed prompts, effect per rollout.

    The shares are by reason, see `winnow.decisions.Decisions`; the effect is that of all groups of a step over its
    rollouts, neighbouring steps averaged.
    """
    told = [(step, step["decisions"]) for step in run.steps if step.get("decisions")]
    x = np.array([number(step.get("total/rollouts")) or 0.0 for step, _ in told])
    shares = {
        reason: np.array([found["closed"].count(reason) / max(1, len(found["closed"])) for _, found in told])
        for reason in CLOSED
    }
    taught = np.array([sum(found["effect"]) / max(1, sum(found["rollouts"])) for _, found in told])
    return x, {reason: share for reason, share in shares.items() if share.any()}, smooth(taught)


def sizes_by_belief(run: Run) -> dict[str, list[int]]:
    """Return the group sizes of steps that say why, by bin of the pass rate expected before the step."""
    sizes: dict[str, list[int]] = {name: [] for name in BELIEF_BINS}
    for step in run.steps:
        found = step.get("decisions") or {"before": [], "rollouts": []}
        for rate, size in zip(found["before"], found["rollouts"], strict=True):
            sizes[BELIEF_BINS[min(len(BELIEF_BINS) - 1, int(rate * len(BELIEF_BINS)))]].append(size)
    return {name: found for name, found in sizes.items() if found}
