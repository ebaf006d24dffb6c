"""Files of JSON lines of which some may be damaged: cut short, or holding what no run writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line that is not blank.

    Attributes:
        number: counted from 1.
        record: what it holds, None where it is damaged.
        problem: what is wrong with it, empty where nothing is.
        torn: it is damaged and ends without a line break, so that it was cut short while it was written.
    """

    number: int
    record: Mapping[str, Any] | None
    problem: str = ""
    torn: bool = False


def lines(path: Path) -> Iterator[Line]:
    """Yield the lines of ``path``; a sound one is an object with a whole ``step`` and text for any ``prompt_id``."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line.decode("utf-8"))
                problem = _problem(record)
            except json.JSONDecodeError as error:
                problem = f"not JSON: {error.msg}"
            except (ValueError, RecursionError) as error:
                problem = f"unreadable: {error}"
            yield Line(number, None, problem, not line.endswith(b"\n")) if problem else Line(number, record)


def _problem(record: object) -> str:
    if not isinstance(record, dict):
        return f"expected an object, found {str(record)[:40]!r}"
    step = record.get("step")
    if not isinstance(step, int) or isinstance(step, bool):
        return f"step={step!r}, expected a whole number"
    if not isinstance(record.get("prompt_id", ""), str):
        return f"prompt_id={record['prompt_id']!r}, expected text"
    return ""
