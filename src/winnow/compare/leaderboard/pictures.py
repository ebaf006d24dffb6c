"""The figures of a leaderboard: mean ranks with intervals, and gains against what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow.compare.leaderboard import findings
from winnow.compare.leaderboard.plan import BASELINE
from winnow.compare.leaderboard.table import Board
from winnow.compare.statistics import Estimate
from winnow.report import style


def order(board: Board) -> list[int]:
    """Return the places of the recipes with a mean rank, best first."""
    values = [estimate.value for estimate in board.places()]
    return sorted((p for p, value in enumerate(values) if np.isfinite(value)), key=lambda p: values[p])


@style.styled
def mean_ranks(board: Board) -> Any:
    """Mean rank over tasks of every recipe, with intervals, at equal rollouts and at equal seconds."""
    places = order(board)
    columns = [("equal rollouts", board.places())]
    if board.price is not None:
        columns.append(("equal seconds", board.places(timed=True)))
    figure, row = style.canvas(
        1, len(columns), size=(3.2 + 3.2 * len(columns), 1.1 + 0.19 * len(places)), sharey=True, squeeze=False
    )
    for axes, (title, estimates) in zip(row[0], columns, strict=True):
        for height, place in enumerate(places):
            colour = style.PALETTE[1] if board.lines[place].recipe == BASELINE else style.PALETTE[0]
            _interval(axes, height, estimates[place], colour)
        axes.set_ylim(len(places) - 0.5, -0.5)
        axes.set_xlabel("mean rank over tasks, 1 is best")
        axes.set_title(title)
        axes.grid(axis="y", visible=False)
    row[0][0].set_yticks(range(len(places)), [board.lines[place].recipe for place in places])
    row[0][0].tick_params(axis="y", labelsize=7.5, labelcolor=style.INK)
    return figure


def _interval(axes: Any, height: int, estimate: Estimate, colour: str) -> None:
    if np.isfinite(estimate.value):
        axes.plot([estimate.low, estimate.high], [height, height], color=colour, linewidth=1.8, alpha=0.45)
        axes.plot(estimate.value, height, marker="o", color=colour, markersize=4)


@style.styled
def explained(board: Board) -> Any:
    """Gain over the baseline against prompts with a contrast and the gradient noise scale; families have colours."""
    kinds = (("prompts with a contrast per 128 rollouts", "linear"), ("the gradient noise scale", "log"))
    figure, grid = style.canvas(
        len(kinds), len(board.plan.tasks), size=(10.6, 6.0), sharey=True, sharex="row", squeeze=False
    )
    families = list(dict.fromkeys(line.family for line in board.lines))
    colours = {family: style.PALETTE[place % len(style.PALETTE)] for place, family in enumerate(families)}
    shown: dict[str, Any] = {}
    for row, (name, scale) in zip(grid, kinds, strict=True):
        for axes, task in zip(row, board.plan.tasks, strict=True):
            gains = board.gains(task)
            for line, gain in zip(board.lines, gains, strict=True):
                x = findings.QUANTITIES[name](line, task)
                if x is None or not np.isfinite(gain.value):
                    continue
                (shown[line.family],) = axes.plot(
                    x, 100 * gain.value, marker="D" if line.recipe == BASELINE else "o", linestyle="", markersize=4.5,
                    color=colours[line.family], alpha=0.8,
                )  # fmt: skip
            axes.axhline(0, color=style.MUTED, linewidth=0.8)
            axes.set_xscale(scale)
            axes.set_xlabel(name.removeprefix("the ") + (", steps" if scale == "log" else ""), fontsize=8.5)
            axes.set_title(task)
        row[0].set_ylabel(f"gain over {BASELINE}, points")
    style.legend_above(figure, list(shown.values()), list(shown))
    return figure
