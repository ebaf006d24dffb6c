"""Training runs in subprocesses: several at a time, stopped together, continued where they stood.

A run is over when its folder holds ``summary.json``; it is then never run again, whether it came to
the end of its budget or a safety limit stopped it. One that was interrupted has no summary: it is
resumed from its last checkpoint, or started over when it had none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tomli_w

from winnow.errors import ConfigError

GRACE = 30.0
"""Seconds a run gets to write its checkpoint after it was asked to stop."""
POLL = 0.05
BAD_INPUT = 2

State = Literal["kept", "started", "done", "failed"]


@dataclass(frozen=True)
class Job:
    """One training run.

    Attributes:
        arm: label of the arm it belongs to.
        seed: its seed.
        settings: training settings, keys inside tables dotted.
        folder: its run folder; the settings are written beside it as ``NAME.toml``.
    """

    arm: str
    seed: int
    settings: Mapping[str, Any]
    folder: Path

    def summary(self) -> dict[str, Any] | None:
        """Return the run's ``summary.json``, or None while it is not over."""
        path = self.folder / "summary.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None

    @property
    def log(self) -> Path:
        """What the run printed."""
        return self.folder.with_suffix(".log")

    def prepare(self) -> list[str]:
        """Write the settings and return the command that starts the run, or continues it."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        request = self.folder.with_suffix(".toml")
        request.write_text(tomli_w.dumps(nested(self.settings)), encoding="utf-8")
        command = [sys.executable, "-m", "winnow.cli", "train", "--config", str(request)]
        command += ["--out", str(self.folder), "--quiet", "--no-report"]
        if any((self.folder / "checkpoints").glob("step-*")):
            return [*command, "--resume"]
        if self.folder.exists():
            shutil.rmtree(self.folder)
        return command


@dataclass(frozen=True)
class Event:
    """Something happened to a job: it was kept, started, done, or failed (``detail`` says why)."""

    job: Job
    state: State
    seconds: float = 0.0
    detail: str = ""


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


def run_jobs(
    jobs: Sequence[Job], *, parallel: int = 1, report: Callable[[Event], None] = lambda event: None
) -> list[Event]:
    """Run every job that is not finished yet, ``parallel`` at a time, in the order given.

    A run that a safety limit stopped is reported as failed and the others go on. Bad input, which
    the other runs share, ends everything. On `KeyboardInterrupt` all runs are asked to stop, get time
    to write a checkpoint, and the interrupt is raised again.

    Returns:
        The last event of every job.

    Raises:
        ConfigError: a run refused its input; the message is what it printed.
    """
    waiting = list(jobs)
    running: list[_Running] = []
    last: list[Event] = []

    def note(event: Event) -> None:
        if event.state != "started":
            last.append(event)
        report(event)

    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                job = waiting.pop(0)
                if (summary := job.summary()) is not None:
                    note(_kept(job, summary))
                    continue
                running.append(_Running(job, _start(job, parallel)))
                note(Event(job, "started"))
            for entry in [entry for entry in running if entry.process.poll() is not None]:
                running.remove(entry)
                note(_ended(entry))
            if running:
                time.sleep(POLL)
    finally:
        _stop(running)
    return last


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into tables, and leave out what is None."""
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        if value is None:
            continue
        *tables, key = name.split(".")
        place = tree
        for table in tables:
            place = place.setdefault(table, {})
        place[key] = value
    return tree


def _start(job: Job, parallel: int) -> subprocess.Popen[bytes]:
    command = job.prepare()
    environment = dict(os.environ)
    if parallel > 1:
        # Without this every run would start one thread per core and they would fight for them.
        threads = max(1, (os.cpu_count() or 1) // parallel)
        environment.setdefault("OMP_NUM_THREADS", str(threads))
    with job.log.open("ab") as log:
        # Its own process group: Ctrl-C reaches this process alone, which then stops each run once.
        return subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
        )


def _kept(job: Job, summary: Mapping[str, Any]) -> Event:
    if summary.get("exit_code", 0):
        return Event(job, "failed", detail=str(summary.get("stopped", "")))
    return Event(job, "kept")


def _ended(entry: _Running) -> Event:
    code = entry.process.returncode
    seconds = time.monotonic() - entry.started
    if code == 0 and entry.job.summary() is not None:
        return Event(entry.job, "done", seconds)
    said = _tail(entry.job.log)
    if code == BAD_INPUT:
        raise ConfigError(f"{entry.job.arm}, seed {entry.job.seed}: {said or 'the run refused its settings'}")
    return Event(entry.job, "failed", seconds, said or f"exit code {code}, see {entry.job.log}")


def _stop(running: Sequence[_Running]) -> None:
    for entry in running:
        entry.process.terminate()
    deadline = time.monotonic() + GRACE
    for entry in running:
        try:
            entry.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            entry.process.kill()
            entry.process.wait()


def _tail(path: Path, lines: int = 12) -> str:
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    return "\n".join(text.splitlines()[-lines:]).removeprefix("error: ")
