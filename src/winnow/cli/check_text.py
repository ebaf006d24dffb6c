"""The facts of ``winnow check`` as text for a terminal."""

from __future__ import annotations

from typing import Any

from rich import box, markup
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

BAR = 24
ROWS = 3
"""Rows of one kind of problem that are printed."""
LONGEST_PROMPT = 2000


def show(facts: dict[str, Any]) -> None:
    """Print problems first, then what was read, the golds, the lengths, a prompt and the worst-case step."""
    console = Console(highlight=False)
    if facts["problems"]:
        console.print(_problems(facts["problems"]))
        _traces(console, facts["problems"])
    table = _labelled()
    for line in (_data, _golds, _lengths):
        line(table, facts)
    if facts["tests_column"]:
        table.add_row("Code", escape(facts["code_isolation"]))
    for note in facts["notes"]:
        table.add_row("[yellow]note[/yellow]", escape(note))
    console.print(table)
    if "prompt" in facts:
        _prompt(console, facts["prompt"])
    if "worst_case" in facts:
        console.print(_step(facts["worst_case"]))
    if facts["not_checked"]:
        console.print(f"[yellow]Not checked:[/yellow] {escape(facts['not_checked'])}")
    if facts["ok"]:
        console.print("[green]Nothing found that would stop a run.[/green]")


def escape(text: str) -> str:
    """Text from the data as it stands: neither markup nor commands to the terminal."""
    return markup.escape(text.replace("\x1b", "␛"))


def _problems(groups: list[dict[str, Any]]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", expand=True)
    for name, ratio in (("where", 3), ("column", 2), ("what", 6), ("what to do", 4)):
        table.add_column(name, header_style="bold", ratio=ratio, overflow="fold")
    for group in groups:
        colour, weight = ("bold red", "stops the run") if group["stops"] else ("bold yellow", "warning")
        count = f"{group['count']:,} row{'s' if group['count'] > 1 else ''}" if group["rows"][0]["line"] else ""
        table.add_row(
            f"[{colour}]{count}[/{colour}]",
            "",
            f"[{colour}]{weight}: {escape(group['title'])}[/{colour}]",
            group["advice"],
        )
        for row in group["rows"][:ROWS]:
            table.add_row(escape(row["where"]), escape(row["column"]), escape(row["what"]), "")
        if group["count"] > ROWS:
            table.add_row("", "", f"[dim]and {group['count'] - ROWS:,} more[/dim]", "")
        table.add_section()
    return table


def _traces(console: Console, groups: list[dict[str, Any]]) -> None:
    for trace in [row["trace"] for group in groups for row in group["rows"] if "trace" in row]:
        console.print(escape(trace), soft_wrap=True)
        console.print()


def _labelled() -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="bold", min_width=7)
    table.add_column(overflow="fold")
    return table


def _data(table: Table, facts: dict[str, Any]) -> None:
    table.add_row("Data", f"{escape(facts['task'])}: {facts['train']:,} to train on, {facts['test']:,} held out")
    if facts.get("rows"):
        columns = facts["columns"]
        table.add_row("", f"{facts['rows']:,} rows with the columns {escape(', '.join(columns['found']) or 'none')}")
        if columns["prompt"]:
            tests = facts["tests_column"] if facts["tests_column"] in columns["found"] else None
            sources = {"prompt": ", ".join(columns["prompt"]), "gold": columns["gold"], "tests": tests}
            table.add_row("", ", ".join(f"{what} from {escape(name)}" for what, name in sources.items() if name))
    if facts["fingerprint"]:
        table.add_row("", f"fingerprint {facts['fingerprint'][:16]}")
    if facts["model"]:
        table.add_row("Model", escape(facts["model"]))


def _golds(table: Table, facts: dict[str, Any]) -> None:
    kinds = ", ".join(f"{name} {count:,}" for name, count in facts["gold_kinds"].items())
    if kinds:
        table.add_row("Golds", escape(kinds))
    found = facts["golds"]
    if found is None:
        return
    if not found["checked"]:
        table.add_row("Reward", f"{escape(facts['reward'])}{escape(_untried(facts))}")
        return
    colour = "green" if found["accepted"] == found["checked"] else "yellow"
    accepted = f"[{colour}]{found['accepted']} of {found['checked']}[/{colour}]"
    table.add_row("Reward", f"{escape(facts['reward'])} accepts {accepted} golds as answers")
    for row in found["refused"]:
        table.add_row("", escape(f"{row['id']}: {row['gold']!r} {row['reason']}"))


def _untried(facts: dict[str, Any]) -> str:
    kinds = {group["kind"] for group in facts["problems"]}
    if "raises" in kinds:
        return " raised when it judged golds as answers, see above"
    if "reward" in kinds:
        return " judged no golds, see above"
    tests = facts["tests_column"]
    return f"; it judges by column {tests}" if tests else "; there are no golds to try it on"


def _lengths(table: Table, facts: dict[str, Any]) -> None:
    unit = "tokens" if "prompt_tokens" in facts else "characters"
    found = facts.get(f"prompt_{unit}")
    if found is None:
        return
    table.add_row(
        "Prompts", f"{unit}: {found['mean']:,.0f} on average, median {found['median']:,}, {found['max']:,} at most"
    )
    most = max(entry["count"] for entry in found["ranges"])
    grid = Table.grid(padding=(0, 2))
    for entry in found["ranges"]:
        bar = "█" * max(round(BAR * entry["count"] / most), entry["count"] > 0)
        grid.add_row(f"up to {entry['at_most']:,}", f"{entry['count']:>7,}", f"[blue]{bar}[/blue]")
    table.add_row("", grid)


def _prompt(console: Console, prompt: dict[str, Any]) -> None:
    title = f"prompt {prompt['id']}"
    title += f" as the model sees it, {prompt['tokens']} tokens" if "tokens" in prompt else ", before any chat template"
    text = prompt["text"]
    if len(text) > LONGEST_PROMPT:
        half = LONGEST_PROMPT // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half:,} characters not shown]\n{text[-half:]}"
    console.print(Panel(escape(text), title=escape(title), title_align="left", border_style="dim"))
    if prompt["gold"] is not None:
        console.print(f"[dim]gold: {escape(prompt['gold'])}[/dim]")


def _step(worst: dict[str, Any]) -> Table:
    table = _labelled()
    table.add_row(
        "Step",
        f"worst case: {worst['rollouts']} rollouts and {worst['rows']} rows of {worst['prompt_tokens']} + "
        f"{worst['completion_tokens']} tokens",
    )
    table.add_row(
        "",
        f"{worst['generate_seconds']:.1f} s to generate, {worst['update_seconds']:.1f} s to update, peak memory "
        f"[bold]{worst['peak_memory_mb']:,.0f} MB[/bold] ({worst['memory_of']})",
    )
    return table
