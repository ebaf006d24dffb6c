"""Rows of a data file and what is wrong with some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file.

    Attributes:
        number: line of a JSONL file, or position in any other, counted from 1.
        values: the record, by column.
    """

    number: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one row cannot be used."""

    number: int
    text: str


@dataclass(slots=True)
class Rows:
    """What was read from a file.

    Attributes:
        source: the file's name for messages.
        unit: what a row's number counts: ``line`` or ``row``.
        rows: the records, in order.
        problems: rows that could not be read.
    """

    source: str
    unit: str
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Every column of every row in order of appearance, members of objects as dotted paths."""
        found: dict[str, None] = {}
        for row in self.rows:
            for name, value in row.values.items():
                found[name] = None
                if isinstance(value, Mapping):
                    found.update((f"{name}.{key}", None) for key in value)
        return list(found)

    def describe(self, problems: Sequence[Problem]) -> str:
        """List problems by line, the first `SHOWN` of them in full."""
        ordered = sorted(problems, key=lambda problem: problem.number)
        lines = [f"  {self.source} {self.unit} {p.number}: {p.text}" for p in ordered[:SHOWN]]
        if len(ordered) > SHOWN:
            lines.append(f"  and {len(ordered) - SHOWN} more")
        return "\n".join(lines)
