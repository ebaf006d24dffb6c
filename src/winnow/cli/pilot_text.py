"""The facts of a pilot as text for a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

BAR = 24
COLOURS = {"none": "red", "all": "green"}
LABELS = {"none": "never", "all": "always"}


def show(facts: dict[str, Any]) -> None:
    """Print pass rates, expected ties by group size, what to keep, the volume, and the advice."""
    console = Console(highlight=False)
    console.print(
        f"[bold]Pilot[/bold]  {facts['k']} rollouts of {facts['prompts']:,} of {facts['available']:,} prompts, "
        f"{_share(facts['pass_rate'])} passed"
    )
    console.print()
    _pass_rates(console, facts)
    _no_signal(console, facts)
    _keep(console, facts)
    _volume(console, facts)
    console.print("[bold]What follows[/bold]")
    for sentence in facts["advice"]:
        console.print(Padding(escape(sentence), (0, 0, 0, 2)))
    if facts["folder"]:
        console.print()
        console.print(f"[dim]rollouts and numbers: {escape(facts['folder'])}[/dim]", soft_wrap=True)


def _pass_rates(console: Console, facts: dict[str, Any]) -> None:
    most = max(*facts["pass_rates"].values(), 1)
    table = Table.grid(padding=(0, 2))
    for label, count in _without_empty_ends(facts["pass_rates"]):
        colour = COLOURS.get(label, "blue")
        bar = f"[{colour}]{'█' * round(BAR * count / most)}[/{colour}]"
        table.add_row(f"  {LABELS.get(label, label)}", f"{count:>6,}", bar)
    console.print("[bold]Prompts by pass rate[/bold]")
    console.print(table)
    console.print()


def _without_empty_ends(rates: dict[str, int]) -> list[tuple[str, int]]:
    """Leave out the steps between never and always that only widen the scale."""
    never, *steps, always = rates.items()
    filled = [place for place, (_, count) in enumerate(steps) if count]
    return [never, *(steps[filled[0] : filled[-1] + 1] if filled else []), always]


def _no_signal(console: Console, facts: dict[str, Any]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("group size", "would tie", "95% interval", "groups with signal per 1,000 rollouts", ""):
        table.add_column(name, justify="right" if name else "left", header_style="dim")
    for each in facts["no_signal"]:
        useful = 1000 * (1 - each["share"]) / each["n"]
        notes = [
            note for note, given in (("modelled", each["modelled"]), ("planned", each["n"] == facts["n"])) if given
        ]
        table.add_row(
            f"n = {each['n']}",
            _share(each["share"]),
            f"{each['low']:.1%} to {each['high']:.1%}",
            f"{useful:.0f}",
            f"[yellow]{', '.join(notes)}[/yellow]" if each["modelled"] else f"[dim]{', '.join(notes)}[/dim]",
        )
    console.print("[bold]Groups without signal[/bold]")
    console.print(Padding(table, (0, 0, 0, 2)))
    if facts["model_fit"] is not None and any(each["modelled"] for each in facts["no_signal"]):
        parts = len(facts["model_fit"]["weights"])
        note = (
            f"[dim]modelled: no unbiased estimate exists above k; {parts} Beta distribution{'s' * (parts > 1)} of pass "
            "rates, fitted by maximum likelihood. Intervals resample prompts.[/dim]"
        )
        console.print(Padding(note, (0, 0, 0, 2)))
    console.print()


def _keep(console: Console, facts: dict[str, Any]) -> None:
    keep, groups = facts["keep"], facts["groups"]
    console.print(f"[bold]Worth keeping[/bold]  {keep['kept']:,} of {facts['prompts']:,} prompts")
    console.print(Padding(f"[dim]{escape(keep['rule'])}[/dim]", (0, 0, 0, 2)))
    names = {"all_pass": "always passed", "all_fail": "never passed", "other_tie": "tied elsewhere", "mixed": "mixed",
             "unscorable": "not scorable"}  # fmt: skip
    table = Table.grid(padding=(0, 2))
    for kind, name in names.items():
        if groups[kind]:
            dropped = keep["dropped"].get(kind, 0)
            table.add_row(f"  {name}", f"{groups[kind]:>6,}", f"[dim]{dropped:,} dropped[/dim]" if dropped else "")
    console.print(table)
    if keep.get("file"):
        console.print(f"  written to {escape(keep['file'])}", soft_wrap=True)
    console.print()


def _volume(console: Console, facts: dict[str, Any]) -> None:
    speed = facts["rollouts_per_second"]
    rows = [
        ("rollouts", f"{facts['rollouts']:,}"),
        ("speed", "all from the log" if speed is None else f"{speed:,.0f} rollouts/s, scoring included"),
        ("length", f"{facts['length_mean']:.1f} tokens on average, {facts['length_max']:,} at most"),
        ("cut at the limit", f"{_share(facts['truncated'])} (max_new_tokens {facts['max_new_tokens']:,})"),
        ("not scorable", _share(facts["unscorable"])),
    ]
    rows += [("", f"[dim]{count:,} x {escape(reason[:60])}[/dim]") for reason, count in facts["reasons"].items()]
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(f"  {name}", value)
    console.print("[bold]Rollouts[/bold]")
    console.print(table)
    console.print()


def _share(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.1%}"
