"""One run in a process of its own: train, and keep the few numbers that a leaderboard needs.

Time is the processor time of this process, with one thread: unlike the clock on the wall it does not grow when
something else runs beside it. The trainer does not tell the time of a step and of the evaluation behind it apart, so
steps with an evaluation count as unmeasured.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Mapping
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any

from winnow.compare.runner import nested
from winnow.report.run import mean_of
from winnow.train.config import TrainConfig

COUNTS = ("prompts", "rollouts", "rows", "recalled_rows", "waves", "tokens")
MEANS = ("signal/no_signal", "signal/all_pass", "signal/all_fail", "grad_norm", "length/mean")


class Meter:
    """A display that shows nothing and remembers what it would have shown."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._before = time.process_time()

    def start(self, start: Any) -> None:
        """Begin to count, now that everything is loaded."""
        self._before = time.process_time()

    def step(self, metrics: Mapping[str, Any], fraction: float) -> None:
        """Keep a step and the processor time it took."""
        now = time.process_time()
        cpu = None if "eval/accuracy" in metrics else now - self._before
        self.records.append({**metrics, "cpu": cpu})
        self._before = time.process_time()

    def note(self, text: str) -> None:
        """Show nothing."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """Show nothing."""


def work(settings: Mapping[str, Any], probe: bool, path: str, about: Mapping[str, Any]) -> None:
    """Run one cell and write its record; the entry point of the process.

    Args:
        settings: training settings, keys inside tables dotted.
        probe: whether gradients are measured.
        path: where the record goes.
        about: what the record says of the cell.
    """
    _end_with_the_parent()
    record: dict[str, Any] = {**about, "settings": dict(settings), "error": None}
    # Beside the record and under its name, so that what a killed run left is gone once the run is made again.
    scratch = Path(path).with_suffix(".run")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        record |= play(settings, scratch, probe=probe)
    except Exception as error:  # whatever a recipe does, the others go on: its record says what it was
        record["error"] = f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_record(Path(path), record)


def play(settings: Mapping[str, Any], folder: Path, *, probe: bool = False) -> dict[str, Any]:
    """Train in this process and return the record of the run.

    Raises:
        WinnowError: the run was refused, or stopped by a safety limit.
        KeyboardInterrupt: it was interrupted, and is no result.
    """
    from winnow.train.trainer import Trainer

    config = TrainConfig(**nested({**settings, "out": str(folder)}))
    meter = Meter()
    if not probe:
        _whole(Trainer(config, progress=meter).run())
        return reduced(meter.records)
    from winnow.compare.leaderboard.noise import watching

    with watching() as noise:
        _whole(Trainer(config, progress=meter).run())
    return {**reduced(meter.records), "noise": noise.as_dict()}


def reduced(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is kept of the lines of ``metrics.jsonl``: the curve, the counts of every step, means over steps."""
    steps = [record for record in records if record["step"] > 0]
    seen = [record for record in records if record.get("eval/accuracy") is not None]
    signal = [record["prompts"] * (1 - (record.get("signal/no_signal") or 0.0)) for record in steps]
    return {
        "curve": {
            "step": [record["step"] for record in seen],
            "rollouts": [record.get("total/rollouts", 0) for record in seen],
            "accuracy": [record["eval/accuracy"] for record in seen],
        },
        "steps": {name: [record.get(name) for record in steps] for name in (*COUNTS, "cpu")},
        "means": {
            **{name: mean_of([record.get(name) for record in steps])[0] for name in MEANS},
            "contrasts": mean_of(signal)[0],
        },
        "skipped": sum(1 for record in steps if record.get("skipped")),
        "cpu_seconds": time.process_time(),
    }


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record in one move: it is there whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(record) + "\n", encoding="utf-8")
    os.replace(draft, path)


def _whole(summary: Mapping[str, Any]) -> None:
    if summary["exit_code"]:
        raise KeyboardInterrupt(summary["stopped"])


def _end_with_the_parent() -> None:
    """End this process when the one that asked for it is gone, killed or not, so that none is left behind."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
