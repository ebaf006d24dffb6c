"""The table of ``winnow compare`` as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from winnow.compare import Comparison, table

WIDTHS = (12, 12, 12, 12, 12, 16)


def show_table(result: Comparison) -> None:
    """Print the table and its notes; it takes 76 columns, whatever the recipes are called."""
    console = Console(highlight=False)

    def line(cells: Sequence[str], style: str = "") -> None:
        text = "".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
        console.print(Text(text.rstrip(), style=style), no_wrap=True)

    console.print(f"Spent to reach {result.target:.1%} held-out accuracy, and accuracy at the end:")
    line(table.HEADER[1:], "bold")
    for name, *cells in table.rows(result):
        console.print(Text.assemble((name.value, "bold cyan"), f"  {name.under}"))
        line([cell.value for cell in cells])
        under = [cell.under.splitlines() for cell in cells]
        for place in range(max(map(len, under))):
            line([lines[place] if place < len(lines) else "" for lines in under], "dim")
    console.print()
    for note in table.notes(result):
        console.print(Text(note, style="dim"))
