"""Tables and figures of docs/results.md, from the comparisons that benchmarks/study.sh ran.

    python benchmarks/study.py runs/study

Writes ``benchmarks/results/study-*.json`` (the compare.json of each part, without what can be recomputed),
``benchmarks/results/study.md`` (the tables as Markdown) and ``docs/figures/study-*.png``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from winnow.compare.statistics import bootstrap, median, to_target
from winnow.report import style

SPREADS = ("0", "0.5", "1")
REGIMES = ("measured", "pods", "update-bound")
RESULTS = Path("benchmarks/results")
FIGURES = Path("docs/figures")
Arm = dict[str, Any]


def show(estimate: dict[str, Any], digits: int = 0) -> str:
    """Return value and interval; a censored value shows as never."""

    def one(value: float | None) -> str:
        return "∞" if value is None or not np.isfinite(value) else f"{value:,.{digits}f}"

    return f"{one(estimate['value'])} [{one(estimate['low'])}, {one(estimate['high'])}]"


def read(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "compare.json").read_text(encoding="utf-8")))


def table(result: dict[str, Any]) -> str:
    """Return one comparison as a Markdown table."""
    head = ["recipe", "final accuracy", "vs first", "rollouts", "rows", *(f"seconds, {name}" for name in REGIMES)]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for arm in result["arms"]:
        cells = [
            f"`{arm['label']}`",
            show(arm["final_accuracy"], 3),
            show(arm["gain_over_first"], 3),
            show(arm["to_target"]["rollouts"]),
            show(arm["to_target"]["rows"]),
            *(show(arm["seconds_to_target"][name], 1) for name in REGIMES),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def priced(arm: Arm, ratio: float, target: float) -> list[float]:
    """Return what each seed paid to reach the target when a trained row costs ``ratio`` generated rollouts."""
    return [
        to_target(np.array(curve["rollouts"]) + ratio * np.array(curve["rows"]), np.array(curve["accuracy"]), target)
        for curve in arm["curves"]
    ]


def boundaries(results: dict[str, dict[str, Any]]) -> tuple[plt.Figure, dict[str, Any]]:
    """Draw the price of reaching the target over that of the first arm, against the cost of a trained row."""
    ratios = np.geomspace(0.05, 50, 31)
    figure, row = style.canvas(1, len(results), size=(10.6, 3.8), sharey=True)
    found: dict[str, Any] = {}
    for axes, (spread, result) in zip(np.atleast_1d(row), results.items(), strict=True):
        base, *others = result["arms"]
        for place, arm in enumerate(others, start=1):
            quotient = []
            for ratio in ratios:
                ours = bootstrap(priced(arm, float(ratio), result["target"]), median).value
                theirs = bootstrap(priced(base, float(ratio), result["target"]), median).value
                quotient.append(ours / theirs if np.isfinite(ours) and np.isfinite(theirs) else np.nan)
            found.setdefault(spread, {})[arm["label"]] = dict(zip(ratios.round(3).tolist(), quotient, strict=True))
            axes.plot(
                ratios,
                quotient,
                style.DASHES[place % len(style.DASHES)],
                color=style.PALETTE[place],
                label=arm["label"],
            )
        axes.axhline(1, color=style.MUTED, linewidth=1)
        axes.set_xscale("log")
        axes.set_xlabel("cost of a trained row / cost of a rollout")
        axes.set_title(f"spread {spread}: {result['no_signal']:.0%} of groups without signal", fontsize=10)
    np.atleast_1d(row)[0].set_ylabel(f"cost to target / {base['label'].split(':')[0]} (first)")
    handles, labels = np.atleast_1d(row)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, fontsize=9)
    return figure, found


def no_signal(folder: Path, arm: str) -> float:
    """Return the mean share of groups without signal over the runs of the arm that generates n = 8."""
    shares = []
    for summary in folder.glob("runs/*/seed-*/summary.json"):
        content = json.loads(summary.read_text(encoding="utf-8"))
        if summary.parent.parent.name.startswith(arm):
            shares.append(content["no_signal_mean"])
    return float(np.mean(shares)) if shares else float("nan")


def keep(result: dict[str, Any], name: str) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"study-{name}.json").write_text(json.dumps(result) + "\n", encoding="utf-8")


def main() -> None:
    runs = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/study")
    parts = []
    if (runs / "tune" / "compare.json").is_file():
        tuned = read(runs / "tune")
        keep(tuned, "tune")
        parts.append("## tune\n\n" + table(tuned))
    results = {}
    for spread in SPREADS:
        folder = runs / f"final-{spread}"
        if (folder / "compare.json").is_file():
            results[spread] = {**read(folder), "no_signal": no_signal(folder, "grpo-n=8")}
            keep(results[spread], f"final-{spread}")
            parts.append(
                f"## spread {spread}: {results[spread]['no_signal']:.1%} of groups of 8 without signal, "
                f"target {results[spread]['target']:.3f}\n\n" + table(results[spread])
            )
    if results:
        FIGURES.mkdir(parents=True, exist_ok=True)
        figure, found = style.styled(boundaries)(results)
        style.save(figure, FIGURES / "study-boundaries.png")
        keep(found, "boundaries")
    (RESULTS / "study.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"written to {RESULTS / 'study.md'}")


if __name__ == "__main__":
    main()
