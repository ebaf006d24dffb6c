"""Cells in fresh processes, a few at a time; a record that exists is never made again.

Processes are forked from a server that has imported torch once and computed nothing: each is fresh, and none pays for
the imports. They end with the process that asked for them, even when that is killed, so a later call finds only
finished records, and repeats at most the runs that were in flight.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from winnow.compare.leaderboard import child
from winnow.compare.leaderboard.plan import Cell

POLL = 0.05
PRELOAD = ["winnow.train.trainer", "winnow.model.load", "winnow.compare.leaderboard.child"]
THREADS = {"OMP_NUM_THREADS": "1", "GOMP_SPINCOUNT": "0"}


@dataclass(frozen=True)
class Outcome:
    """A cell that is over: its record, whether it was there before, and the seconds it took."""

    cell: Cell
    record: Mapping[str, Any]
    kept: bool = False
    seconds: float = 0.0


def read_record(folder: Path, cell: Cell) -> dict[str, Any] | None:
    """Return the record of a cell, or None while there is none."""
    path = folder / cell.name
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def run_cells(
    cells: Iterable[Cell],
    folder: Path,
    *,
    jobs: int = 1,
    limit: float = 1800.0,
    retry: bool = False,
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run every cell that has no record yet, ``jobs`` at a time, in the order given.

    Args:
        cells: what to run.
        folder: of the leaderboard; records are written below it.
        jobs: processes at a time, one thread each.
        limit: seconds after which a run is ended and its record says so.
        retry: run those again whose record is an error.
        report: told of every cell that is over.

    Returns:
        The outcome of every cell; a run that failed has a record with ``error``.
    """
    waiting, running, over = list(cells), list[_Running](), list[Outcome]()

    def note(outcome: Outcome) -> None:
        over.append(outcome)
        report(outcome)

    context = _context()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.pop(0)
                found = read_record(folder, cell)
                if found is not None and not (retry and found.get("error")):
                    note(Outcome(cell, found, kept=True))
                    continue
                (folder / cell.name).unlink(missing_ok=True)
                running.append(_start(context, cell, folder))
            for entry in [entry for entry in running if entry.over(limit)]:
                running.remove(entry)
                note(entry.outcome(folder, limit))
            if running:
                time.sleep(POLL)
    finally:
        for entry in running:
            entry.process.kill()
            entry.process.join()
    return over


@dataclass
class _Running:
    cell: Cell
    process: BaseProcess
    started: float

    def over(self, limit: float) -> bool:
        """Return whether the process ended; one beyond the limit is ended here."""
        if self.process.is_alive() and time.monotonic() - self.started < limit:
            return False
        self.process.kill()
        self.process.join()
        return True

    def outcome(self, folder: Path, limit: float) -> Outcome:
        seconds = time.monotonic() - self.started
        record = read_record(folder, self.cell)
        if record is None:
            late = f"ended after {limit:g} s" if seconds >= limit else f"exit code {self.process.exitcode}"
            record = {**_about(self.cell), "settings": dict(self.cell.settings), "error": f"the process died: {late}"}
            child.write_record(folder / self.cell.name, record)
        return Outcome(self.cell, record, seconds=seconds)


def _start(context: Any, cell: Cell, folder: Path) -> _Running:
    arguments = (dict(cell.settings), cell.stage == "probe", str(folder / cell.name), _about(cell))
    process = context.Process(target=child.work, args=arguments)
    process.start()
    return _Running(cell, process, time.monotonic())


def _about(cell: Cell) -> dict[str, Any]:
    return {
        "stage": cell.stage,
        "recipe": cell.recipe,
        "task": cell.task,
        "seed": cell.seed,
        "lr": cell.lr,
    }


def _context() -> Any:
    os.environ.update(THREADS)  # read when the server imports torch
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    return context
