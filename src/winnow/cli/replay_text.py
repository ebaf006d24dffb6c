"""The facts of a replay as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

SHOWN = 6
WIDTH, NARROWEST = 79, 8


def show(facts: dict[str, Any], *, brief: bool = False) -> None:
    """Print what the recipes would have done and what to change; ``brief`` prints the verdict and the notes only."""
    console = Console(highlight=False)
    if not brief:
        _log(console, facts)
        _recipes(console, facts)
        _theory(console, facts)
        _skipped(console, facts)
    if facts["advice"] is not None:
        _advice(console, facts, brief)
    for note in facts["notes"]:
        console.print(Padding(f"[yellow]note[/yellow] {escape(note)}", (0, 0, 0, 2)))


def _log(console: Console, facts: dict[str, Any]) -> None:
    log, shape = facts["log"], facts["shape"]
    steps = f"{log['steps']:,} steps" if log["steps"] > 1 else "one policy"
    console.print(
        f"[bold]Replay[/bold]  {log['rollouts']:,} rollouts, {log['per_visit']['mean']:.3g} of each of "
        f"{log['visits']:,} groups, {log['prompts']:,} prompts, {steps}"
    )
    budget = f", {shape['budget']:,} {shape['budget_unit']} per step" if shape["budget"] else ""
    console.print(f"  steps of {shape['prompts']:,} prompts{budget}; mean outcome {log['outcome_mean']:.3f}")
    if facts["cost"]:
        console.print(Padding(f"[dim]seconds: {escape(facts['cost']['note'])}[/dim]", (0, 0, 0, 2)))
    console.print()


def table_of(rows: Sequence[tuple[str, ...]]) -> Padding:
    """Return a table; the numbers take the room they need and the names what is left."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    widths = [max(Text.from_markup(cell).cell_len for cell in column) for column in zip(*rows, strict=True)]
    left = WIDTH - sum(widths[1:]) - 2 * len(widths)
    for place, (name, width) in enumerate(zip(rows[0], widths, strict=True)):
        table.add_column(
            name,
            justify="right" if place else "left",
            header_style="dim",
            no_wrap=True,
            width=width if place else min(width, max(left, NARROWEST)),
        )
    for row in rows[1:]:
        table.add_row(*row)
    return Padding(table, (0, 0, 0, 2))


def _name(name: str, each: dict[str, Any]) -> str:
    return escape(name) + ("*" if each["marked"] else "")


def _recipes(console: Console, facts: dict[str, Any]) -> None:
    timed = facts["cost"] is not None
    rows = [("recipe", "ties", "rollouts", "rows", "eff./1k", *(("seconds", "eff./s") if timed else ()))]
    for name, each in facts["recipes"].items():
        rows.append(
            (
                _name(name, each),
                _span(each["no_signal"], "{:.0%}"),
                _one(each["rollouts"]),
                _span(each["rows"], "{:,.0f}"),
                _span(each["per_1000"], "{:,.0f}"),
                *((_one(each["seconds"], "{:,.3g}"), _span(each["per_second"], "{:.3g}")) if timed else ()),
            )
        )
    console.print("[bold]Per step[/bold]  [dim]95% intervals over prompts and draws[/dim]")
    console.print(table_of(rows))
    note = (
        "ties: groups without signal. rows: trained. eff./1k: effective rows per 1,000 rollouts; an effective row is "
        "one of a batch of half passes, half failures that would estimate the gradient as well"
    )
    console.print(Padding(f"[dim]{note}{'; eff./s: per second' if timed else ''}[/dim]", (0, 0, 1, 2)))


def _theory(console: Console, facts: dict[str, Any]) -> None:
    unit = facts["log"]["length_unit"]
    lengths = ("tokens", "trained") if unit else ()
    rows = [("recipe", "|A|", *lengths, "Dr.GRPO", "RLOO", "bound", "eta", "waves")]
    for name, each in facts["recipes"].items():
        rows.append(
            (
                _name(name, each),
                _one(each["advantage"]),
                *((_one(each["tokens"]), _one(each["trained_tokens"])) if unit else ()),
                *(_one(each[key], "{:.2g}") for key in ("drgrpo", "rloo", "bound")),
                _one(each["eta"], "{:.2f}"),
                _one(each["waves"], "{:.3g}"),
            )
        )
    note = (
        ("|A|: sum of |advantage|. " + (f"tokens, trained: {unit} generated and trained. " if unit else ""))
        + "Dr.GRPO, RLOO: variance of these estimators per prompt (VIP). bound: gradient norm per rollout (VIGOR), "
        "eta: what moving rollouts adds to its square"
    )
    console.print(f"[bold]{'Tokens and theory' if unit else 'Theory'}[/bold]")
    console.print(table_of(rows))
    console.print(Padding(f"[dim]{note}[/dim]", (0, 0, 1, 2)))


def _skipped(console: Console, facts: dict[str, Any]) -> None:
    if not facts["skipped"]:
        return
    console.print("[bold]Not replayed[/bold]")
    names: dict[str, list[str]] = {}
    for name, reason in facts["skipped"].items():
        names.setdefault(reason, []).append(name)
    for reason, alike in names.items():
        console.print(Padding(f"{escape(', '.join(alike))}  [dim]{escape(reason)}[/dim]", (0, 0, 0, 2)))
    console.print()


def _advice(console: Console, facts: dict[str, Any], brief: bool) -> None:
    advice = facts["advice"]
    colour = {"yes": "green", "perhaps": "yellow", "no": "cyan"}[advice["answer"]]
    if not brief:
        console.print(
            f"[bold]At {advice['budget']:,} rollouts per step[/bold]  [dim]times {_title(advice['base'])}[/dim]"
        )
        rows: list[tuple[str, ...]] = [("option", "prompts", "effective rows", "groups with signal")]
        for each in advice["options"][:SHOWN]:
            ratios = (_span(each[key], "{:.2f}") for key in ("ratio", "breadth"))
            rows.append((escape(_title(each)), f"{each['prompts']:,}", *ratios))
        console.print(table_of(rows))
    console.print(Padding(f"[{colour}]{escape(advice['text'])}[/{colour}]", (0, 0, 0, 2)))
    if facts["cost"] is None:
        console.print(
            Padding("[dim]Updates are not priced: --cost a,b,c or timings decide what smaller m is worth.[/dim]",
                    (0, 0, 0, 2))
        )  # fmt: skip


def _title(option: dict[str, Any]) -> str:
    kept = "" if option["m"] is None else f", m={option['m']}"
    return f"{option['recipe']} n={option['n']}{kept}"


def _one(figure: dict[str, Any], form: str = "{:,.0f}") -> str:
    return "" if figure["value"] is None else form.format(figure["value"])


def _span(figure: dict[str, Any], form: str) -> str:
    """Return a figure and half of its interval."""
    if figure["value"] is None:
        return ""
    value = form.format(figure["value"])
    half = (figure["high"] - figure["low"]) / 2
    form = "{:.2g}" if form == "{:.3g}" and half < 1 else form
    return f"{value} [dim]±{form.format(half)}[/dim]"
