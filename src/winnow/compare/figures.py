"""The figures of a comparison: accuracy against what it cost, and the cost of reaching the target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from winnow.compare.result import CURRENCIES, ArmResult, Comparison
from winnow.compare.statistics import Estimate, band
from winnow.report import style

PANELS = (
    ("rollouts", "rollouts generated"),
    ("rows", "rollouts trained on"),
    ("seconds", "seconds"),
)


def draw(comparison: Comparison, folder: Path) -> dict[str, Path]:
    """Write every figure into ``folder``; return name -> file."""
    return {
        name: style.save(make(comparison), folder / f"{name}.png")
        for name, make in (("curves", curves), ("cost-to-target", cost_to_target))
    }


@style.styled
def curves(comparison: Comparison) -> Any:
    """Mean held-out accuracy of every arm against rollouts, trained rows and seconds, with bands."""
    figure, row = style.canvas(1, 3, size=(10.6, 3.9), sharey=True)
    lowest, highest = 1.0, 0.0
    for axes, (currency, label) in zip(row, PANELS, strict=True):
        for place, arm in enumerate(comparison.arms):
            colour, dash = _look(place)
            x, accuracy = arm.average(currency)
            low, high = band(accuracy)
            mean = accuracy.mean(axis=0)
            if len(accuracy) > 1:
                axes.fill_between(x, low, high, color=colour, alpha=0.14, linewidth=0)
            axes.plot(x, mean, dash, color=colour, label=arm.label, zorder=3)
            lowest, highest = min(lowest, float(low.min())), max(highest, float(high.max()))
        axes.axhline(comparison.target, color=style.MUTED, linewidth=1, linestyle=(0, (1, 2)), zorder=2)
        axes.set_xlim(left=0)
        axes.set_xlabel(_priced(label, comparison))
        style.counts(axes.xaxis)
    pad = 0.06 * max(highest - lowest, 0.05)
    row[0].set_ylim(max(0.0, lowest - pad), min(1.0, highest + pad))
    row[0].set_ylabel("held-out accuracy (%)")
    style.percent(row[0].yaxis)
    row[0].annotate(
        f"target {comparison.target:.1%}",
        (0, comparison.target),
        xytext=(4, 3),
        textcoords="offset points",
        fontsize=8,
        color=style.MUTED,
    )
    handles, labels = row[0].get_legend_handles_labels()
    style.legend_above(figure, handles, labels)
    return figure


@style.styled
def cost_to_target(comparison: Comparison) -> Any:
    """What each arm spent to reach the target, with intervals over seeds; arrows leave the budget."""
    arms = comparison.arms
    figure, row = style.canvas(1, len(CURRENCIES), size=(10.6, 1.35 + 0.42 * len(arms)), sharey=True)
    for axes, currency in zip(row, CURRENCIES, strict=True):
        edge = max(_spent(arm, currency) for arm in arms) * 1.08
        for place, arm in enumerate(arms):
            _dot(axes, place, arm.reach[currency], edge, _look(place)[0])
        axes.set_xlim(0, edge * 1.02)
        axes.set_ylim(len(arms) - 0.5, -0.5)
        label = {"rollouts": "rollouts", "rows": "trained rows"}.get(currency, currency)
        axes.set_xlabel(_priced(label, comparison) if currency == "seconds" else label)
        style.counts(axes.xaxis)
        axes.xaxis.get_major_locator().set_params(nbins=4)
        axes.grid(axis="y", visible=False)
    row[0].set_yticks(range(len(arms)), [arm.label for arm in arms])
    row[0].tick_params(axis="y", labelsize=9.5, labelcolor=style.INK)
    row[0].set_title(f"Cost of reaching {comparison.target:.1%}")
    return figure


def _dot(axes: Any, place: int, reach: Estimate, edge: float, colour: str) -> None:
    value, low, high = (min(number, edge) for number in (reach.value, reach.low, reach.high))
    axes.plot([low, high], [place, place], color=colour, linewidth=2.2, alpha=0.45)
    if np.isinf(reach.high):
        axes.plot(edge, place, marker=">", color=colour, markersize=6, alpha=0.6, clip_on=False)
    if np.isfinite(reach.value):
        axes.plot(value, place, marker="o", color=colour, markersize=7)
    else:
        axes.annotate(
            "> budget",
            (edge, place),
            xytext=(-8, 6),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=colour,
        )


def _spent(arm: ArmResult, currency: str) -> float:
    spent = [float(curve.spent[currency][-1]) for curve in arm.curves]
    return max([value for value in spent if np.isfinite(value)], default=1.0)


def _priced(label: str, comparison: Comparison) -> str:
    if label != "seconds":
        return label
    return "seconds of training" if comparison.cost.measured else f"seconds priced as {comparison.cost.name}"


def _look(place: int) -> tuple[str, str]:
    return style.PALETTE[place % len(style.PALETTE)], style.DASHES[place % len(style.DASHES)]
