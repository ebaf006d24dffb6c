"""Rows of a data file and what is wrong with some of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from winnow.task.problems import BROKEN, Problem

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file.

    Attributes:
        number: line of a text file on which the record starts, or position in any other, counted from 1;
            in a file of several shards the numbers of each go on where those of the one before end.
        values: the record, by column.
    """

    number: int
    values: Mapping[str, Any]


@dataclass(slots=True)
class Rows:
    """What was read from a file, or from the shards of one.

    Attributes:
        source: the file's name for messages.
        unit: what a row's number counts: ``line`` or ``row``.
        rows: the records, in order.
        problems: rows that could not be read.
        notes: what else a reader should know.
        last: the largest number in use.
        shards: number before the first row, name and unit of each shard; empty for one file.
    """

    source: str
    unit: str
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    last: int = 0
    shards: list[tuple[int, str, str]] = field(default_factory=list)

    @classmethod
    def joined(cls, source: str, parts: Sequence[Rows]) -> Rows:
        """Put shards one after the other; a single one takes the name of the whole."""
        if len(parts) == 1:
            parts[0].source = source
            return parts[0]
        whole = cls(source, "row")
        for part in parts:
            start = whole.last
            whole.shards.append((start, part.source, part.unit))
            whole.rows += [Row(start + row.number, row.values) for row in part.rows]
            whole.problems += [replace(problem, number=start + problem.number) for problem in part.problems]
            whole.notes += part.notes
            whole.last = start + part.last
        return whole

    def add(self, number: int, values: Any) -> None:
        """Take a record, or note that it is not one."""
        self.last = number
        if isinstance(values, dict):
            self.rows.append(Row(number, values))
        else:
            self.refuse(number, f"expected an object with named columns, found {_kind(values)}")

    def refuse(self, number: int, text: str) -> None:
        """Note why the record at ``number`` cannot be read."""
        self.last = max(self.last, number)
        self.problems.append(Problem(number, text, BROKEN))

    def cut(self, limit: int) -> None:
        """Keep the first ``limit`` records, and of the problems those up to the last of them."""
        last = self.rows[limit - 1].number
        self.rows = self.rows[:limit]
        self.problems = [problem for problem in self.problems if problem.number <= last]

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

    def where(self, number: int) -> str:
        """Say where a row stands: ``train.jsonl line 3``."""
        if not number:
            return self.source
        if not self.shards:
            return f"{self.source} {self.unit} {number}"
        start, source, unit = self.shards[bisect_left(self.shards, (number,)) - 1]
        return f"{source} {unit} {number - start}"

    def describe(self, problems: Sequence[Problem]) -> str:
        """List problems by line, the first `SHOWN` of them in full."""
        ordered = sorted(problems, key=lambda problem: problem.number)
        lines = [f"  {self.where(p.number)}: {p.text}" for p in ordered[:SHOWN]]
        if len(ordered) > SHOWN:
            lines.append(f"  and {len(ordered) - SHOWN} more")
        return "\n".join(lines)


def _kind(value: Any) -> str:
    names = {
        type(None): "null",
        bool: "a boolean",
        str: "a string",
        list: "a list",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), type(value).__name__)
