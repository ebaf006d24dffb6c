"""Rollout logs as a stream of entries: one at a time in memory, whatever the size of the log."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winnow.errors import DataError
from winnow.report.lines import lines
from winnow.report.run import rollout_files

SHOWN = 10
FIELDS = ("step", "prompt_id", "reward")


@dataclass(frozen=True, slots=True)
class Entry:
    """One rollout of a log.

    Attributes:
        place: file and line, for messages.
        step: the step of training, 0 in a pilot.
        prompt_id: its prompt.
        prompt: the text of the prompt; empty where the log has none.
        answer: the gold; None where the log has none.
        text: the completion.
        length: its tokens where ``ids`` were logged, else its characters.
        truncated: it was cut at the limit of tokens.
        reward: the score; None when unscorable.
        outcome: the verifier's verdict; None where there is none.
        parts: components of the score, None where one was missing.
        reason: why it is unscorable, or a note.
    """

    place: str
    step: int
    prompt_id: str
    prompt: str
    answer: str | None
    text: str
    length: int
    truncated: bool
    reward: float | None
    outcome: float | None
    parts: Mapping[str, float | None]
    reason: str

    @property
    def judged(self) -> float | None:
        """What signal is judged on: the outcome where there is one, else the reward; None without a reward."""
        return self.reward if self.reward is None or self.outcome is None else self.outcome

    @property
    def passed(self) -> bool:
        """Whether it was judged at 1 or more; an unscorable rollout did not pass."""
        return self.judged is not None and self.judged >= 1


@dataclass
class Log:
    """The rollouts of some files, in order.

    Attributes:
        files: the files.
        torn: last lines cut short while they were written, which are passed over; known once all is read.
    """

    files: Sequence[Path]
    torn: int = 0
    bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.bytes = sum(path.stat().st_size for path in self.files)

    def __iter__(self) -> Iterator[Entry]:
        """Read from the start.

        Raises:
            DataError: lines that are no rollouts, with file and line; at most `SHOWN` are named.
        """
        self.torn = 0
        for path in self.files:
            bad: list[str] = []
            for line in lines(path):
                if line.torn:
                    self.torn += 1
                    continue
                if bad and len(bad) >= SHOWN:
                    break
                try:
                    if line.record is None:
                        raise ValueError(line.problem)
                    entry = _entry(f"{path} line {line.number}", line.record)
                except ValueError as error:
                    bad.append(f"  {path.name} line {line.number}: {error}")
                    continue
                # After the first bad line the rest is read only to name the others.
                if not bad:
                    yield entry
            if bad:
                more = " (and perhaps more)" if len(bad) >= SHOWN else ""
                raise DataError(
                    f"{path} is no log of rollouts, or was damaged; these lines cannot be read{more}:\n"
                    + "\n".join(bad)
                    + "\nremove them, or name another file"
                )


def open_log(paths: Sequence[Path]) -> Log:
    """Find the files of a log.

    Args:
        paths: files, or folders of runs or pilots, which stand for all their ``rollouts*.jsonl``, oldest first.

    Raises:
        DataError: a path is missing, is a file of data, or a folder holds no rollouts.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = rollout_files(path)
            if not inside:
                raise DataError(f"{path} holds no rollouts.jsonl: a run writes it unless log_rollouts is none")
            found += inside
        elif path.is_file():
            _refuse_data(path)
            found.append(path)
        else:
            raise DataError(f"{path}: no such file or folder")
    return Log(list(dict.fromkeys(found)))


def _refuse_data(path: Path) -> None:
    with path.open("rb") as file:
        line = next((line for line in file if line.strip()), b"")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(record, dict) and record.keys().isdisjoint(FIELDS):
        raise DataError(
            f"{path} looks like data and not like a log of rollouts: it has {', '.join(record) or 'nothing'}, and none "
            f"of {', '.join(FIELDS)}; winnow check is for data"
        )


def _entry(place: str, record: Mapping[str, Any]) -> Entry:
    text = _text(record, "text")
    ids = record.get("ids")
    if ids is not None and not isinstance(ids, list):
        raise ValueError(f"ids={repr(ids)[:40]}, expected a list")
    parts = record.get("parts") or {}
    if not isinstance(parts, Mapping):
        raise ValueError(f"parts={repr(parts)[:40]}, expected an object")
    return Entry(
        place=place,
        step=record["step"],
        prompt_id=_text(record, "prompt_id"),
        prompt=_text(record, "prompt", ""),
        answer=_text(record, "answer") if record.get("answer") is not None else None,
        text=text,
        length=len(text) if ids is None else len(ids),
        truncated=record.get("finish") == "length",
        reward=_number(record, "reward"),
        outcome=_number(record, "outcome"),
        parts={str(name): _number(parts, name) for name in parts},
        reason=_text(record, "reason") if record.get("reason") is not None else "",
    )


def _text(record: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = record.get(name, default)
    if not isinstance(value, str):
        raise ValueError(f"no {name}" if value is None else f"{name}={repr(value)[:40]}, expected text")
    return value


def _number(record: Mapping[str, Any], name: str) -> float | None:
    """Return a finite number; None for what is missing, null or not finite (LOG-01: left out of means, not 0)."""
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise ValueError(f"{name}={repr(value)[:40]}, expected a number")
    return float(value) if math.isfinite(value) else None
