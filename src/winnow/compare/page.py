"""``compare.html``: the table, the figures and the numbers of every seed on one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.compare import table
from winnow.compare.result import ArmResult, Comparison
from winnow.report import html

CAPTIONS = {
    "curves": "Mean held-out accuracy over seeds against what was spent, with 95% bootstrap bands; the dotted "
    "line is the target.",
    "cost-to-target": "Median cost of reaching the target with 95% bootstrap intervals over seeds; an arrow "
    "leaves the budget.",
}


def render(comparison: Comparison, figures: Mapping[str, Path], setting: str) -> str:
    """Return the page; ``setting`` says in one line what was run."""
    names = " · ".join(arm.label for arm in comparison.arms)
    return html.page(f"winnow compare: {names}", setting, _sections(comparison, figures))


def _sections(comparison: Comparison, figures: Mapping[str, Path]) -> Iterator[str]:
    yield html.panel_table(
        [[_cell(cell) for cell in row] for row in table.rows(comparison)], table.HEADER, numeric=range(1, 7)
    )
    yield "".join(f'<p class="note">{html.text(note)}</p>' for note in table.notes(comparison))
    for name, path in figures.items():
        yield html.picture(path, CAPTIONS[name])
    yield from _regimes(comparison)
    yield html.heading("Every seed")
    yield html.panel_table(
        [_seed(arm, place) for arm in comparison.arms for place in range(len(arm.curves))],
        ("recipe", "seed", "rollouts", "rows", "tokens", "seconds", "first", "final", "stopped"),
        numeric=range(1, 8),
    )


def _regimes(comparison: Comparison) -> Iterator[str]:
    yield html.heading(
        "Seconds to the target under other prices",
        "The same runs, their steps priced by the counts they logged.",
    )
    labels = [arm.label for arm in comparison.arms]
    rows = [
        [html.text(name), *(_cell(table.reach(estimates[label])) for label in labels)]
        for name, estimates in comparison.regimes.items()
    ]
    yield html.panel_table(rows, ("price", *(html.text(label) for label in labels)), numeric=range(1, len(labels) + 1))


def _seed(arm: ArmResult, place: int) -> list[str]:
    curve = arm.curves[place]
    spent = curve.spent
    return [
        html.text(arm.label),
        str(curve.seed),
        *(f"{spent[name][-1]:,.0f}" for name in ("rollouts", "rows", "tokens")),
        f"{spent['seconds'][-1]:,.1f}",
        f"{curve.accuracy[0]:.1%}",
        f"{curve.accuracy[-1]:.1%}",
        html.text(curve.stopped),
    ]


def _cell(cell: table.Cell) -> str:
    under = html.text(cell.under).replace("\n", "<br>")
    return html.text(cell.value) + (f"<small>{under}</small>" if under else "")
