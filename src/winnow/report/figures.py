"""The figures of one run: learning, signal, group sizes, seconds and the funnel of its rollouts.

Each function takes a `Run` and returns a matplotlib figure, or None where the run did not measure
what the figure shows. `draw` writes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from winnow.report import style
from winnow.report.bars import size_bars
from winnow.report.deciding import decisions
from winnow.report.funnel import stages
from winnow.report.run import Run
from winnow.report.series import binned, sizes_by_pass_rate, smooth

PHASES = ("generate", "score", "decide", "update", "log")


def draw(run: Run, folder: Path) -> dict[str, Path]:
    """Write every figure the run has data for into ``folder``; return name -> file."""
    written = {}
    for name, make in FIGURES.items():
        figure = make(run)
        if figure is not None:
            written[name] = style.save(figure, folder / f"{name}.png")
    return written


@style.styled
def learning(run: Run) -> Any:
    """Held-out accuracy, and the training reward of all and of the selected rollouts, against rollouts."""
    evaluated = run.series("total/rollouts", "eval/accuracy")
    rewarded = run.series("total/rollouts", "reward/all")
    if not len(evaluated[0]) and not len(rewarded[0]):
        return None
    figure, (left, right) = style.canvas(1, 2, size=(8.4, 3.6))
    left.set_title("Held-out accuracy")
    x, accuracy = evaluated
    left.plot(x, accuracy, color=style.PALETTE[0], marker="o", markersize=4, clip_on=False, zorder=3)
    style.percent(left.yaxis)
    left.set_ylim(0, 1)
    left.set_ylabel("correct answers (%)")
    falls = len(x) > 1 and accuracy[1] < accuracy[0]
    ends = [(0, (6, 5) if falls else (8, -12), "left"), (-1, (0, 9), "right")][: len(x)]
    for index, offset, side in ends:
        left.annotate(
            f"{accuracy[index]:.1%}",
            (x[index], accuracy[index]),
            xytext=offset,
            textcoords="offset points",
            ha=side,
            fontweight="bold",
            color=style.PALETTE[0],
        )
    right.set_title("Training reward")
    right.set_ylabel("mean reward of a rollout")
    for key, label, colour in (
        ("reward/selected", "selected", style.PALETTE[1]),
        ("reward/all", "all rollouts", style.PALETTE[0]),
    ):
        x, reward = run.series("total/rollouts", key)
        right.plot(x, reward, color=colour, alpha=0.22, linewidth=1)
        right.plot(x, smooth(reward), color=colour, label=label)
    if len(rewarded[0]):
        right.legend(loc="best", reverse=True)
    for axes in (left, right):
        axes.set_xlabel("rollouts generated")
        axes.set_xlim(left=0)
        style.counts(axes.xaxis)
    return figure


@style.styled
def signal(run: Run) -> Any:
    """Share of groups in which every rollout failed, tied, passed, or which carry signal."""
    keys = ("signal/all_fail", "signal/other_tie", "signal/all_pass")
    x, fail, tie, passed = run.series("total/rollouts", *keys)
    if not len(x):
        return None
    x, fail, tie, passed = binned(x, fail, tie, passed)
    teaching = np.clip(1 - fail - tie - passed, 0, 1)
    figure, axes = style.canvas(size=(7.2, 3.6))
    axes.set_title("Which groups can teach")
    bands = [
        ("all wrong", fail, "#D9A38A"),
        ("tied otherwise", tie, style.FAINT),
        ("with signal", teaching, style.PALETTE[0]),
        ("all right", passed, "#9CCFBC"),
    ]
    shown = [band for band in bands if band[1].max() > 0]
    axes.stackplot(x, *(share for _, share, _ in shown), colors=[colour for *_, colour in shown], linewidth=0)
    axes.set_ylim(0, 1)
    axes.set_xlim(x[0], x[-1] if x[-1] > x[0] else x[0] + 1)
    style.percent(axes.yaxis)
    style.counts(axes.xaxis)
    axes.set_ylabel("groups (%)")
    axes.set_xlabel("rollouts generated")
    tops = np.cumsum([share[-1] for _, share, _ in shown])
    middles = tops - np.array([share[-1] for _, share, _ in shown]) / 2
    ink = {"all wrong": "#A5532B", "all right": "#2E7D63", "tied otherwise": style.MUTED}
    labels = [
        (f"{name}\n{share.mean():.0%} on average", float(middle), ink.get(name, style.PALETTE[0]))
        for (name, share, _), middle in zip(shown, middles, strict=True)
    ]
    style.end_labels(axes, labels, float(axes.get_xlim()[1]), gap=0.15, size=8.5)
    return figure


@style.styled
def groups(run: Run) -> Any:
    """Sizes of the groups over the run, and how many rollouts a prompt got by the pass rate of its group."""
    x, rollouts, prompts = run.series("total/rollouts", "rollouts", "prompts")
    x_range, low, high = run.series("total/rollouts", "group/min", "group/max")
    by_rate = sizes_by_pass_rate(run)
    if not len(x) and not by_rate:
        return None
    figure, (left, right) = style.canvas(1, 2, size=(8.4, 3.5), width_ratios=[1.15, 1])
    left.set_title("Rollouts per prompt")
    tallest = 1.0
    if len(x_range):
        x_range, low, high = binned(x_range, low, high)
        left.fill_between(x_range, low, high, color=style.PALETTE[0], alpha=0.16, linewidth=0, label="fewest to most")
        tallest = float(high.max())
    if len(x):
        x, mean = binned(x, rollouts / np.maximum(prompts, 1))
        left.plot(x, mean, color=style.PALETTE[0], label="mean")
        tallest = max(tallest, float(mean.max()))
    left.set_ylim(0, 1.2 * tallest)
    left.set_xlim(left=0)
    left.set_xlabel("rollouts generated")
    left.set_ylabel("rollouts of one prompt in one step")
    style.counts(left.xaxis)
    left.legend(loc="upper left", ncols=2)
    right.set_title("Who got them")
    colours = [style.FAINT if name in ("none", "all") else style.PALETTE[0] for name in by_rate]
    size_bars(right, by_rate, colours)
    right.set_xlabel("share of the group that was right, number of groups")
    return figure


@style.styled
def seconds(run: Run) -> Any:
    """Seconds of a step by phase, stacked, with each phase's share of the run."""
    measured = [phase for phase in PHASES if len(run.series("step", f"seconds/{phase}")[0])]
    if not measured:
        return None
    keys = ["step", *(f"seconds/{phase}" for phase in measured)]
    columns = run.series(*keys)
    totals = [float(column.sum()) for column in columns[1:]]
    x, *spent = binned(*columns)
    figure, axes = style.canvas(size=(7.2, 3.6))
    axes.set_title("Where the time goes")
    width = float(np.diff(x).min()) * 0.86 if len(x) > 1 else 0.8
    bottom = np.zeros(len(x))
    for place, (phase, column) in enumerate(zip(measured, spent, strict=True)):
        share = totals[place] / max(sum(totals), 1e-12)
        colour = style.PALETTE[(0, 4, 3, 1, 6)[PHASES.index(phase)]]
        label = f"{phase}  {totals[place]:.1f} s ({share:.0%})"
        axes.bar(x, column, width, bottom=bottom, color=colour, label=label, linewidth=0)
        bottom += column
    axes.set_xlabel("step")
    axes.set_ylabel("seconds of one step")
    axes.set_xlim(x[0] - width, x[-1] + width)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True, title="whole run").set_alignment("left")
    return figure


@style.styled
def funnel(run: Run) -> Any:
    """What became of the generated rollouts, from generation to the update."""
    found = stages(run.ledger)
    if not found:
        return None
    figure, axes = style.canvas(size=(7.2, 3.0))
    axes.set_title("What became of the rollouts")
    full = max(found[0].count, 1)
    shades = ("#9DB7CF", "#7CA3C6", "#5790BE", "#2F80B7", style.PALETTE[0])
    for place, stage in enumerate(found):
        axes.barh(place, full, color="#F3F5F8", height=0.66)
        axes.barh(place, stage.count, color=shades[min(place, len(shades) - 1)], height=0.66)
        text = f"{stage.count:,}   {stage.count / full:.0%}"
        axes.annotate(text, (full, place), xytext=(8, 0), textcoords="offset points", va="center", fontweight="bold")
        if stage.lost:
            room = full - stage.count
            inside = room < 0.34 * full
            axes.annotate(
                f"-{stage.lost:,} {stage.why}",
                (stage.count, place),
                xytext=(-6 if inside else 6, 0),
                textcoords="offset points",
                va="center",
                ha="right" if inside else "left",
                fontsize=8,
                color="white" if inside else style.MUTED,
            )
    axes.set_yticks(range(len(found)), [stage.name for stage in found])
    axes.tick_params(axis="y", labelsize=9.5, labelcolor=style.INK)
    axes.invert_yaxis()
    axes.set_xlim(0, full)
    axes.set_xticks([])
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure


FIGURES: Mapping[str, Callable[[Run], Any]] = {
    "learning": learning,
    "signal": signal,
    "groups": groups,
    "decisions": decisions,
    "seconds": seconds,
    "funnel": funnel,
}
