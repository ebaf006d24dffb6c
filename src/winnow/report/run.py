"""A run folder read back: settings, one record per step, totals and a sample of its rollouts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.errors import DataError
from winnow.report.lines import lines

COUNTERS = tuple(f"total/{name}" for name in ("rollouts", "rows", "tokens", "trained_tokens", "seconds"))

Record = Mapping[str, Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What a run folder holds.

    Attributes:
        path: the folder.
        config: the resolved settings of ``config.toml`` (empty when the file is missing).
        steps: one record per line of ``metrics.jsonl``, in order of ``step``.
        summary: ``summary.json``; empty while the run has not finished.
        ledger: ``ledger.json``; falls back to the summary's own copy.
        notes: what was passed over in its files; grows as they are read.
    """

    path: Path
    config: Record
    steps: Sequence[Record]
    summary: Record
    ledger: Record
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The recipe of the run, or the folder's name when neither file says it."""
        return str(self.summary.get("recipe") or self.config.get("recipe") or self.path.name)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end and wrote its summary."""
        return bool(self.summary)

    def series(self, *keys: str) -> tuple[Floats, ...]:
        """Return the columns ``keys`` over the steps in which every one of them was measured.

        A step that lacks a key, or holds a non-finite value for it, is left out: missing means not
        measured, never 0.

        Returns:
            One float64 array of shape (S,) per key, S the number of steps kept.
        """
        rows = [[number(step.get(key)) for key in keys] for step in self.steps]
        kept = [row for row in rows if all(value is not None for value in row)]
        table = np.array(kept, dtype=np.float64).reshape(len(kept), len(keys))
        return tuple(table[:, column] for column in range(len(keys)))

    def total(self, key: str) -> float | None:
        """Return the last measured value of the counter ``total/key``, else that of the summary."""
        for step in reversed(self.steps):
            value = number(step.get(f"total/{key}"))
            if value is not None:
                return value
        return number(self.summary.get(key))

    def rollouts(self) -> Iterator[Record]:
        """Yield the logged rollouts file by file, oldest first; damaged lines are passed over, with a note."""
        for path in rollout_files(self.path):
            damaged = []
            for line in lines(path):
                if line.record is None:
                    damaged.append(line)
                else:
                    yield line.record
            if damaged:
                first = f"the first is line {damaged[0].number}: {damaged[0].problem}"
                self._note(f"{path}: passed over {len(damaged)} damaged lines ({first})")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def load_run(path: Path | str) -> Run:
    """Read the run folder at ``path``; it may still be running.

    Raises:
        DataError: the folder is missing, or holds no ``metrics.jsonl`` with at least one step, or a line of that
            file is damaged; a last line that was cut short is only noted.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"no run folder at {folder}: give the folder `winnow train --out` wrote")
    metrics = folder / "metrics.jsonl"
    if not metrics.is_file():
        raise DataError(f"{folder} is not a run folder: it holds no metrics.jsonl")
    steps, notes = _steps(metrics)
    if not steps:
        raise DataError(f"{metrics} is empty: the run has not finished its first step yet")
    summary = _json(folder / "summary.json")
    ledger = _json(folder / "ledger.json") or dict(summary.get("ledger") or {})
    return Run(folder, _toml(folder / "config.toml"), steps, summary, ledger, notes)


def number(value: object) -> float | None:
    """Return ``value`` as a float, or None for anything that is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if np.isfinite(value) else None


def mean_of(values: Sequence[object]) -> tuple[float | None, int]:
    """Return the mean of the finite numbers among ``values`` and how many there were (LOG-01)."""
    finite = [found for value in values if (found := number(value)) is not None]
    return (float(np.mean(finite)) if finite else None), len(finite)


def rollout_files(folder: Path) -> list[Path]:
    """Return the rollout logs of a run folder: rotated files by number, the current one last."""

    def order(path: Path) -> tuple[int, int]:
        digits = "".join(character for character in path.name if character.isdigit())
        return (0, int(digits)) if digits else (1, 0)

    return sorted(folder.glob("rollouts*.jsonl"), key=order)


def _from_zero(record: Record) -> Record:
    """Give the evaluation before training its counters: nothing has been spent yet."""
    return {**dict.fromkeys(COUNTERS, 0), **record} if record.get("step") == 0 else record


def _steps(path: Path) -> tuple[list[Record], list[str]]:
    steps: list[Record] = []
    notes = []
    for line in lines(path):
        if line.record is not None:
            steps.append(_from_zero(line.record))
        elif line.torn:
            notes.append(f"{path} line {line.number}: cut short, and passed over")
        else:
            raise DataError(f"{path} line {line.number}: {line.problem}; correct or delete this line")
    return sorted(steps, key=lambda record: int(record["step"])), notes


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} is not a JSON object: found {str(found)[:40]!r}")
    return found


def _toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not TOML: {error}") from None
