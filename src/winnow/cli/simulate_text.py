"""The facts of a simulation as text for a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from winnow.cli.replay_text import table_of


def show(facts: dict[str, Any]) -> None:
    """Print a line per recipe, and VIGOR's closed forms where they apply."""
    console = Console(highlight=False)
    slots = f"; {facts['slots']:,} slots" if facts["slots"] else ""
    console.print(
        f"[bold]Simulation[/bold]  {facts['size']:,} prompts {escape(facts['pool'])}, pass rate {_before(facts):.3f}; "
        f"{facts['steps']:,} steps of {facts['prompts']:,}{slots}",
        soft_wrap=True,
    )
    clock = ("idle", "time") if facts["slots"] else ()
    rows: list[tuple[str, ...]] = [("recipe", "rollouts", "used", "ties", "rows", "rate", *clock, "µs")]
    for label, each in facts["recipes"].items():
        rows.append(
            (
                escape(label),
                f"{each['rollouts']:,}",
                f"{each['used']:.0%}",
                f"{each['no_signal']:.0%}",
                f"{each['trained']:,}",
                f"{each['pass_rate']['after']:.3f}",
                *((f"{each['idle']:.0%}", f"{each['time']:,.0f}") if clock else ()),
                f"{each['decide_us']:,.0f}",
            )
        )
    console.print(table_of(rows))
    note = (
        "used: of the budget. ties: groups without signal. rows: trained. rate: pass rate of the pool, after. µs: to "
        "decide, per rollout"
    )
    note += "; idle: share of slot time; time: in tokens of one slot" if clock else ""
    console.print(Padding(f"[dim]{note}[/dim]", (0, 0, 0, 2)))
    for label, said in facts["theory"].items():
        found = facts["recipes"][label]["eta"]
        console.print(
            f"  {escape(label)}: eta {found:.3f}, in closed form {said['eta']:.3f}; speed-up {found ** (1 / 3):.3f}, "
            f"{said['speed_up']:.3f}"
        )
    if facts["skipped"]:
        console.print("\n[bold]Not simulated[/bold]")
    for label, reason in facts["skipped"].items():
        console.print(Padding(f"{escape(label)}  [dim]{escape(reason)}[/dim]", (0, 0, 0, 2)))
    for note in facts["notes"]:
        console.print(Padding(f"[yellow]note[/yellow] {escape(note)}", (0, 0, 0, 2)))


def _before(facts: dict[str, Any]) -> float:
    return float(next(iter(facts["recipes"].values()))["pass_rate"]["before"])
