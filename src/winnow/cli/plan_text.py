"""The facts of ``winnow plan`` as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

RANGES = {
    "steps": ("steps_at_least", "steps"),
    "rollouts": ("rollouts", "rollouts_at_most"),
    "passes_over_the_data": ("passes_over_the_data", "passes_at_most"),
}
"""Both ends of what a recipe decides while it runs, told on one line."""
LABELS = {"optimizer_steps": "optimiser steps"}
"""Facts that are told under another name than in the JSON object, which has that of the code."""


def show(facts: dict[str, Any]) -> None:
    """Print settings, sizes of a step and of the run, groups without signal, and the settings of other hosts."""
    console = Console()

    def block(title: str, rows: Sequence[tuple[str, ...]], note: str = "") -> None:
        console.print(f"[bold]{title}[/bold]" + (f"  [dim]{note}[/dim]" if note else ""), highlight=False)
        table = Table.grid(padding=(0, 2))
        for row in rows:
            table.add_row(*(f"  {row[0]}", *row[1:]))
        console.print(table)
        console.print()

    block(
        "Settings",
        [
            (
                name,
                _share(entry["value"]) if name == "m" else _text(entry["value"], "unset"),
                f"[dim]{entry['from']}[/dim]",
            )
            for name, entry in facts["settings"].items()
        ],
        "and where each came from",
    )
    step, run, signal = facts["step"], facts["run"], facts["signal"]
    block(
        "One step",
        [
            ("prompts", _text(step["prompts"])),
            ("rollouts", _rollouts(step)),
            ("trained rows", _trained(step, facts["settings"]["m"]["value"])),
            ("micro-steps", _text(step["micro_steps"], "chosen by the learner")),
            ("optimiser steps", _text(step["updates"])),
        ],
        "n and m are means where the recipe moves rollouts between prompts",
    )
    block(
        "The run",
        [
            (LABELS.get(name, name.replace("_", " ")), _run_text(name, run))
            for name in run
            if name in RANGES or not any(name in ends for ends in RANGES.values())
        ],
    )
    for note in facts["notes"]:
        console.print(f"[yellow]note: {note}[/yellow]\n", highlight=False)
    expected = [(f"n = {size}", f"{share:.1%}") for size, share in signal["by_n"].items()]
    block(f"Groups without signal: {signal['at_n']:.1%} expected", expected, f"from {signal['from']}")
    if "pass_rates" in signal:
        most = max(signal["pass_rates"].values())
        block(
            "Pass rates in the pilot",
            [
                (label, "[blue]" + "█" * round(30 * count / most) + "[/blue]", str(count))
                for label, count in signal["pass_rates"].items()
            ],
            f"{signal['with_signal']} of {signal['prompts']} prompts had signal",
        )
    gpus = facts["hosts"]["processes"]
    for host, title in (("trl", "TRL GRPOConfig"), ("verl", "verl")):
        found = facts["hosts"][host]
        if "refused" in found:
            block(title, [], f"not possible there: {found['refused']}")
            continue
        rows = [(name, _text(value)) for name, value in found["sizes"].items()]
        block(title, rows, f"sizes on {gpus} GPU{'s' * (gpus > 1)}; all settings, to paste: --host {host}")
        for line in (*found["changed"], *found["rules"]):
            console.print(f"  [dim]{line}[/dim]", highlight=False)
        console.print()


def _share(m: float) -> str:
    """Tell a share of the group from a number of rollouts; all of it would read as one."""
    return str(m) if isinstance(m, int) else "all" if m == 1.0 else f"{m:g} of n"


def _rollouts(step: dict[str, Any]) -> str:
    told = f"{step['rollouts']:,} = {step['prompts']} prompts x n {step['n']}"
    if step["rollouts"] != step["prompts"] * step["n"]:
        told = f"{step['rollouts']:,}, set by rollouts_per_step"
    least, most = step["rollouts_at_least"], step["rollouts_at_most"]
    if least < step["rollouts"]:
        return f"{told}; {least:,} to {most:,} as signal has it"
    return told if most == step["rollouts"] else f"{told}; up to {most:,} where signal is missing"


def _run_text(name: str, run: dict[str, Any]) -> str:
    ends = [_text(run[end], "until the clock ends it") for end in RANGES.get(name, (name,)) if end in run]
    return " to ".join(dict.fromkeys(ends))


def _trained(step: dict[str, Any], m: float) -> str:
    if isinstance(m, int) and m > step["n"]:
        # Legal where groups are unequal: m bounds the large ones, and the mean n bounds their sum.
        return f"{step['rows']:,} at most, all that are drawn; m {m} bounds a single prompt"
    told = f"{step['rows']:,} = {step['prompts']} prompts x m {step['m']}, at most"
    if step["rows"] != step["prompts"] * step["m"]:
        told = f"{step['rows']:,} at most of the {step['rollouts']:,} drawn"
    recalled = step["recalled_at_most"]
    return f"{told}; and up to {recalled:,} of earlier steps" if recalled else told


def _text(value: object, missing: str = "all") -> str:
    if value is None:
        return f"[dim]{missing}[/dim]"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
