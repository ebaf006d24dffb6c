"""The facts of an audit as text for a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

COLOURS = {"high": "red", "medium": "yellow", "low": "cyan"}


def show(facts: dict[str, Any], *, findings_only: bool = False) -> None:
    """Print the findings, then the numbers behind them and the disagreements."""
    console = Console(highlight=False)
    _findings(console, facts)
    if findings_only:
        return
    _numbers(console, facts)
    _parts(console, facts)
    if facts["verifiers"] is not None:
        _verifiers(console, facts["verifiers"])


def _findings(console: Console, facts: dict[str, Any]) -> None:
    torn = facts["torn_lines"]
    console.print(
        f"[bold]Audit[/bold]  {facts['rollouts']:,} rollouts, {facts['signal']['groups']:,} groups, "
        f"{facts['steps']:,} step{'s' * (facts['steps'] != 1)}; {facts['bytes'] / 1e6:,.1f} MB"
    )
    if torn:
        console.print(f"  [yellow]{torn} last line{'s' * (torn > 1)} cut short, passed over[/yellow]")
    console.print()
    if not facts["findings"]:
        console.print("[green]Nothing found.[/green]\n")
        return
    console.print("[bold]Findings[/bold]")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for each in facts["findings"]:
        colour = COLOURS[each["severity"]]
        table.add_row(
            f"  [{colour}]{each['severity']}[/{colour}]",
            f"{escape(each['what'])}\n[dim]{escape(each['do'])}[/dim]",
        )
    console.print(table)
    console.print()


def _numbers(console: Console, facts: dict[str, Any]) -> None:
    signal, duplicates, hints = facts["signal"], facts["duplicates"], facts["hints"]
    truncated, unscorable = facts["truncated"], facts["unscorable"]
    kinds = ", ".join(
        f"{count:,} {kind.replace('_', ' ')}" for kind, count in signal["kinds"].items() if count
    )  # fmt: skip
    rows = [
        ("reward", _mean(facts["reward"], "no reward logged")),
        ("outcome", _mean(facts["outcome"], "no outcome logged")),
        ("passed", f"{facts['passed']:,} of {facts['rollouts']:,}"),
        ("groups", kinds),
        ("prompts", f"{signal['prompts_constant']:,} of {signal['prompts_compared']:,} have one reward throughout"),
        ("length", _mean(facts["length"])),
        ("length and reward", _correlations(facts["length_and_reward"])),
        ("truncation", _truncated(truncated)),
        ("not scored", f"{unscorable['share']:.1%}"),
        *(("", f"[dim]{count:,} x {escape(reason)}[/dim]") for reason, count in unscorable["reasons"].items()),
        ("repeats", f"{_share(duplicates['within_prompt'])} repeat another completion of their group; entropy "
                    f"{_mean(duplicates['entropy'])}; {_share(duplicates['across_prompts'])} under several prompts"),
        ("cheap passes", f"{hints['empty']:,} empty, {hints['repeats_prompt']:,} repeat the prompt, "
                         f"{hints['cut']:,} cut, "
                         f"{hints['without_gold']:,} of {hints['passed_with_gold_known']:,} without the gold's text"),
    ]  # fmt: skip
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(f"  [dim]{name}[/dim]", value)
    console.print("[bold]Numbers[/bold]")
    console.print(table)
    console.print()


def _parts(console: Console, facts: dict[str, Any]) -> None:
    if not facts["parts"]:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("part", "mean", "std", "min", "max", "rollouts", "missing"):
        table.add_column(name, justify="left" if name == "part" else "right", header_style="dim")
    for name, part in facts["parts"].items():
        numbers = ["" if part[key] is None else f"{part[key]:.3g}" for key in ("mean", "std", "min", "max")]
        table.add_row(escape(name), *numbers, f"{part['count']:,}", f"{part['missing']:,}")
    console.print("[bold]Parts of the reward[/bold]")
    console.print(Padding(table, (0, 0, 0, 2)))


def _verifiers(console: Console, facts: dict[str, Any]) -> None:
    first, second = escape(facts["first"]["name"]), escape(facts["second"]["name"])
    rate = "nothing scored by both" if facts["rate"] is None else (
        f"{facts['disagreements']:,} of {facts['scored_by_both']:,} differ, {facts['rate']:.2%} ({facts['low']:.2%} to "
        f"{facts['high']:.2%})"
    )  # fmt: skip
    console.print(f"[bold]{first} against {second}[/bold]  {rate}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"{first} \\ {second}", header_style="dim")
    for name in facts["table"]:
        table.add_column(name, justify="right", header_style="dim")
    for name, row in facts["table"].items():
        cells = [f"[bold]{count:,}[/bold]" if count and name != other else f"{count:,}" for other, count in row.items()]
        table.add_row(name, *cells)
    console.print(Padding(table, (0, 0, 0, 2)))
    for each in facts["examples"]:
        one, two = each["verdicts"]
        console.print(f"  {escape(each['prompt_id'])}  [dim]gold[/dim] {escape(str(each['gold']))}", soft_wrap=True)
        console.print(f"    [dim]ends[/dim] {escape(repr(each['completion']))}", soft_wrap=True)
        for name, verdict, reason in zip((first, second), (one, two), each["reasons"], strict=True):
            why = f" [dim]({escape(reason)})[/dim]" if reason else ""
            console.print(f"    [dim]{name}[/dim] {verdict}{why}", soft_wrap=True)
    console.print()


def _truncated(facts: dict[str, Any]) -> str:
    if not facts["count"]:
        return "none cut at the limit"
    cut, others = (_mean(facts[name], "not scored") for name in ("reward", "reward_of_others"))
    return f"{facts['share']:.1%} cut at the limit; reward {cut}, of the others {others}"


def _mean(moments: dict[str, Any], nothing: str = "not measured") -> str:
    if moments["mean"] is None:
        return nothing
    return f"{moments['mean']:.3g} over {moments['count']:,}"


def _correlations(facts: dict[str, Any]) -> str:
    if facts["spearman"]["r"] is None:
        return "no group in which both vary"
    return (
        "; ".join(
            f"{name} {found['r']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
            for name, found in (("ranks", facts["spearman"]), ("values", facts["pearson"]))
        )
        + f", over {facts['spearman']['groups']:,} groups"
    )


def _share(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.1%}"
