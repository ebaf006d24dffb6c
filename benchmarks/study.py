"""Tables and figures of docs/results.md, from the runs of benchmarks/study.sh.

    python benchmarks/study.py runs/study

Writes ``benchmarks/results/study-*.json`` (what the tables and figures are made of), ``benchmarks/results/study.md``
tables as Markdown) and ``docs/figures/study-*.png``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from winnow.compare import Comparison, Estimate, compare_runs, figures, to_target
from winnow.compare.result import ArmResult
from winnow.compare.statistics import bootstrap, median
from winnow.report import load_run, style

SPREADS = ("0", "0.5", "1")
REGIMES = ("measured", "pods", "update-bound")
RESULTS = Path("benchmarks/results")
FIGURES = Path("docs/figures")
SHARE = 0.6  # of what the first arm gains: a target that most runs reach


def load(folder: Path) -> dict[str, list[Any]]:
    """Return the finished runs of a comparison by arm, in the order of its table."""
    setting = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    runs = {}
    for arm in setting["arms"]:
        slug = "".join(c if c.isalnum() or c in "+-.=" else "-" for c in arm["label"])
        label = arm["label"].rsplit(",lr=", 1)[0] if "final" in folder.name else arm["label"]
        runs[label] = [
            load_run(path.parent) for path in sorted(folder.glob(f"runs/{slug}-????????/seed-*/summary.json"))
        ]
    return runs


def show(estimate: Estimate, digits: int = 0) -> str:
    """Return value and interval; infinity where seeds that never arrive decide it."""

    def one(value: float) -> str:
        return f"{value:,.{digits}f}" if np.isfinite(value) else "∞"

    return f"{one(estimate.value)} [{one(estimate.low)}, {one(estimate.high)}]"


def table(result: Comparison) -> str:
    """Return one comparison as a Markdown table."""
    head = ["recipe", "final accuracy", "vs first", "rollouts", "rows", *(f"seconds, {name}" for name in REGIMES)]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for arm in result.arms:
        cells = [
            f"`{arm.label}`",
            show(arm.final, 3),
            show(arm.gain, 3),
            show(arm.reach["rollouts"]),
            show(arm.reach["rows"]),
            *(show(result.regimes[name][arm.label], 1 if name == "measured" else 0) for name in REGIMES),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def easy_target(runs: dict[str, list[Any]]) -> float:
    """Return the accuracy at which the first arm has made `SHARE` of its mean gain."""
    best = compare_runs(runs)
    start = float(np.mean([curve.accuracy[0] for curve in best.arms[0].curves]))
    return start + SHARE * (best.target - start)


def no_signal(runs: list[Any]) -> float:
    return float(np.mean([run.summary["no_signal_mean"] for run in runs]))


def priced(arm: ArmResult, ratio: float, target: float) -> float:
    """Return the median price of reaching the target when a trained row costs ``ratio`` generated rollouts."""
    paid = [
        to_target(curve.spent["rollouts"] + ratio * curve.spent["rows"], curve.accuracy, target) for curve in arm.curves
    ]
    return bootstrap(paid, median).value


@style.styled
def boundaries(results: dict[str, Comparison], shares: dict[str, float]) -> tuple[Any, dict[str, Any]]:
    """Draw the price of the target over that of the first arm, against the cost of a trained row."""
    ratios = np.geomspace(0.05, 50, 31)
    figure, row = style.canvas(1, len(results), size=(10.6, 3.8), sharey=True)
    found: dict[str, Any] = {"ratios": ratios.tolist()}
    for axes, (spread, result) in zip(np.atleast_1d(row), results.items(), strict=True):
        base, *others = result.arms
        for place, arm in enumerate(others, start=1):
            quotient = [priced(arm, ratio, result.target) / priced(base, ratio, result.target) for ratio in ratios]
            found.setdefault(spread, {})[arm.label] = [q if np.isfinite(q) else None for q in quotient]
            look = {"color": style.PALETTE[place], "linestyle": style.DASHES[place % len(style.DASHES)]}
            axes.plot(ratios, quotient, label=arm.label, **look)
        axes.axhline(1, color=style.MUTED, linewidth=1)
        axes.set_xscale("log")
        axes.set_xlabel("cost of a trained row / cost of a rollout")
        axes.set_title(f"spread {spread}: {shares[spread]:.0%} without signal", fontsize=10)
    np.atleast_1d(row)[0].set_ylabel(f"price of the target / {base.label}")
    handles, labels = np.atleast_1d(row)[0].get_legend_handles_labels()
    style.legend_above(figure, handles, labels)
    return figure, found


def keep(content: Any, name: str) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"study-{name}.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


def main() -> None:
    runs = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/study")
    parts = []
    for name in ("tune", "noise"):
        if (runs / name / "compare.json").is_file():
            result = compare_runs(load(runs / name))
            keep(result.as_dict(), name)
            parts.append(f"## {name}\n\n{table(result)}")
    results, shares = {}, {}
    for spread in SPREADS:
        folder = runs / f"final-{spread}"
        if not (folder / "compare.json").is_file():
            continue
        arms = load(folder)
        shares[spread] = no_signal(next(iter(arms.values())))
        results[spread] = compare_runs(arms, target=easy_target(arms))
        keep(results[spread].as_dict(), f"spread-{spread}")
        style.save(figures.curves(results[spread]), FIGURES / f"study-spread-{spread}.png")
        parts.append(
            f"## spread {spread}\n\n{shares[spread]:.1%} of GRPO's groups of 8 without signal over the run; target "
            f"{results[spread].target:.3f}; at GRPO's own best, {compare_runs(arms).target:.3f}:\n\n"
            f"{table(compare_runs(arms))}\n\nat the target of {SHARE:.0%} of its gain:\n\n{table(results[spread])}"
        )
    if results:
        figure, found = boundaries(results, shares)
        style.save(figure, FIGURES / "study-boundaries.png")
        keep(found, "boundaries")
    (RESULTS / "study.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"written to {RESULTS / 'study.md'}")


if __name__ == "__main__":
    main()
