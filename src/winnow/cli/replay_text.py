"""The facts of a replay as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

SHOWN = 6
WIDTH, NARROWEST = 78, 8


def show(facts: dict[str, Any], *, brief: bool = False) -> None:
    """Print what the recipes would have done and what to change; ``brief`` prints the verdict and the notes only."""
    console = Console(highlight=False)
    about_log = facts["log"]["notes"]
    if not brief:
        _log(console, facts)
    _notes(console, about_log)
    if facts["advice"] is not None:
        _verdict(console, facts)
        console.print()
    if not brief:
        if facts["advice"] is not None:
            _options(console, facts["advice"])
        _recipes(console, facts)
        _theory(console, facts)
        _skipped(console, facts)
    _notes(console, [note for note in facts["notes"] if note not in about_log])


def _notes(console: Console, notes: Sequence[str]) -> None:
    for note in notes:
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


def table_of(rows: Sequence[tuple[str, ...]]) -> Padding:
    """Return a table; the numbers take the room they need and the names, on several lines, what is left.

    Where that is less than `NARROWEST`, numbers and their intervals go on two lines; nothing is cut.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    plain = [[Text.from_markup(cell).plain for cell in column] for column in zip(*rows, strict=True)]
    widths = [max(map(cell_len, column)) for column in plain]
    if _left(widths) < min(widths[0], NARROWEST):
        widths[1:] = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in plain[1:]]
    names = min(widths[0], max(_left(widths), 1))
    for place, (name, width) in enumerate(zip(rows[0], (names, *widths[1:]), strict=True)):
        table.add_column(
            name, justify="right" if place else "left", header_style="dim", overflow="fold", width=width
        )  # fmt: skip
    for place, row in enumerate(rows[1:], start=1):
        table.add_row(escape("\n".join(folded(plain[0][place], names))), *row[1:])
    return Padding(table, (0, 0, 0, 2))


def _left(widths: Sequence[int]) -> int:
    return WIDTH - sum(widths[1:]) - 2 * len(widths)


def folded(name: str, width: int) -> list[str]:
    """Return a name in lines of at most ``width`` cells, broken after a mark where there is one."""
    lines = []
    while cell_len(name) > width:
        at = max((place + 1 for place, each in enumerate(name[:width]) if each in "-+:,_ "), default=width)
        lines.append(name[:at].rstrip())
        name = name[at:]
    return [*lines, name]


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


def _verdict(console: Console, facts: dict[str, Any]) -> None:
    advice = facts["advice"]
    colour = {"yes": "green", "perhaps": "yellow", "undecided": "yellow", "no": "cyan"}[advice["answer"]]
    console.print()
    console.print(Padding(f"[{colour}]{escape(advice['text'])}[/{colour}]", (0, 0, 0, 2)))
    if facts["cost"] is None:
        unpriced = "Updates are not priced: --cost a,b,c or timings decide what smaller m is worth."
        console.print(Padding(f"[dim]{unpriced}[/dim]", (0, 0, 0, 2)))


def _options(console: Console, advice: dict[str, Any]) -> None:
    console.print(
        f"[bold]At {advice['budget']:,} rollouts per step[/bold]  [dim]times {_title(advice['base'])}; 95% intervals, "
        "not widened[/dim]"
    )
    rows: list[tuple[str, ...]] = [("option", "prompts", "effective rows", "groups with signal")]
    for each in advice["options"][:SHOWN]:
        ratios = (_span(each[key], "{:.2f}") for key in ("ratio", "breadth"))
        rows.append((escape(_title(each)), f"{each['prompts']:,}", *ratios))
    console.print(table_of(rows))


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
