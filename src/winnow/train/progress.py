"""What a person sees while a run goes on: a live table, plain lines, nothing, or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

Metrics = Mapping[str, Any]
Mode = Literal["auto", "live", "plain", "quiet", "json"]


@dataclass(frozen=True)
class Start:
    """What is known when a run starts.

    Attributes:
        title: recipe, task and model in one line.
        folder: the run folder.
        limits: the limits of the run in words.
    """

    title: str
    folder: str
    limits: str


class Progress(Protocol):
    """Shows a run; the trainer calls these, and nothing a display does changes the run."""

    def start(self, start: Start) -> None:
        """Show that the run begins."""

    def step(self, metrics: Metrics, fraction: float) -> None:
        """Show a line of ``metrics.jsonl``; ``fraction`` of the run's nearest limit is spent."""

    def note(self, text: str) -> None:
        """Show something a person should read."""

    def end(self, summary: Metrics) -> None:
        """Show how the run ended; also called when it failed, with what there is."""


def make(mode: Mode = "auto", *, out: TextIO | None = None, err: TextIO | None = None) -> Progress:
    """Return the display called ``mode``; ``auto`` is live on a terminal and plain lines elsewhere.

    Displays write to ``err``; only ``json`` writes the summary, one object, to ``out``.
    """
    out, err = out or sys.stdout, err or sys.stderr
    if mode == "auto":
        mode = "live" if err.isatty() else "plain"
    if mode == "live":
        return LiveProgress(Console(file=err))
    if mode == "plain":
        return PlainProgress(err)
    return JsonProgress(out, err) if mode == "json" else QuietProgress(err)


class QuietProgress:
    """Shows notes only."""

    def __init__(self, err: TextIO) -> None:
        self._err = err

    def start(self, start: Start) -> None:
        """Show nothing."""

    def step(self, metrics: Metrics, fraction: float) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Print the note."""
        print(f"note: {text}", file=self._err, flush=True)

    def end(self, summary: Metrics) -> None:
        """Show nothing."""


class JsonProgress(QuietProgress):
    """Notes on one stream, and at the end the summary as one JSON object on the other."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        super().__init__(err)
        self._out = out

    def end(self, summary: Metrics) -> None:
        """Print the summary."""
        print(json.dumps(summary), file=self._out, flush=True)


class PlainProgress(QuietProgress):
    """One line per evaluation, and in between one at least every ten seconds."""

    _SECONDS_BETWEEN = 10.0

    def __init__(self, err: TextIO) -> None:
        super().__init__(err)
        self._shown = float("-inf")

    def start(self, start: Start) -> None:
        """Print title, limits and folder."""
        print(f"{start.title}; until {start.limits}; writing {start.folder}", file=self._err, flush=True)

    def step(self, metrics: Metrics, fraction: float) -> None:
        """Print the numbers of the step when it is time."""
        seconds = float(metrics.get("total/seconds", 0.0))
        if "eval/accuracy" not in metrics and seconds - self._shown < self._SECONDS_BETWEEN:
            return
        self._shown = seconds
        fields = ", ".join(f"{name} {value}" for name, value in _fields(metrics, fraction))
        print(f"step {metrics['step']}: {fields}", file=self._err, flush=True)

    def end(self, summary: Metrics) -> None:
        """Print the outcome."""
        print(_outcome(summary), file=self._err, flush=True)


class LiveProgress:
    """A small table that is redrawn in place, with a bar of the budget spent."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._accuracy: list[float] = []
        self._title = ""

    def start(self, start: Start) -> None:
        """Open the display."""
        self._title = f"{start.title}  until {start.limits}  -> {start.folder}"
        self._live = Live(Text(self._title), console=self._console, refresh_per_second=4, transient=True)
        self._live.start()

    def step(self, metrics: Metrics, fraction: float) -> None:
        """Redraw with the numbers of the step."""
        if "eval/accuracy" in metrics:
            accuracy = float(metrics["eval/accuracy"])
            # First, best and last say where the curve is; keeping all of it would grow with the run.
            self._accuracy = [*self._accuracy[:1], max([*self._accuracy, accuracy]), accuracy]
        if self._live is None:
            return
        table = Table.grid(padding=(0, 2))
        table.add_row("step", str(metrics["step"]))
        if self._accuracy:
            first, last = self._accuracy[0], self._accuracy[-1]
            table.add_row("held-out accuracy", f"{last:.3f}  (first {first:.3f})")
        for name, value in _fields(metrics, fraction):
            if name != "held-out accuracy":
                table.add_row(name, value)
        bar = ProgressBar(total=1.0, completed=fraction, width=50)
        self._live.update(Group(Text(self._title), table, bar))

    def note(self, text: str) -> None:
        """Print the note above the table."""
        self._console.print(Text(f"note: {text}"))

    def end(self, summary: Metrics) -> None:
        """Close the display and print the outcome."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._console.print(Text(_outcome(summary)))


def _fields(metrics: Metrics, fraction: float) -> list[tuple[str, str]]:
    """Return what is shown of a step, in order: learning first, the loss (about 0 by design) not at all."""
    found: list[tuple[str, str]] = []
    for key, name, form in (
        ("eval/accuracy", "held-out accuracy", "{:.3f}"),
        ("reward/all", "reward of all", "{:.3f}"),
        ("signal/no_signal", "no signal", "{:.0%}"),
        ("kept_rows", "kept", "{:.0f}"),
        ("rows", "trained", "{:.0f}"),
        ("grad_norm", "grad norm", "{:.3g}"),
        ("total/rollouts", "rollouts", "{:.0f}"),
    ):
        if metrics.get(key) is not None:
            found.append((name, form.format(metrics[key]) + _of_scorable(key, metrics)))
    phases = [metrics.get(f"seconds/{phase}") for phase in ("generate", "score", "update")]
    if all(seconds is not None for seconds in phases):
        found.append(("generate/score/update", "/".join(f"{seconds:.2f}" for seconds in phases) + " s"))
    found.append(("spent", f"{fraction:.0%}"))
    seconds = metrics.get("total/seconds")
    if seconds and 0 < fraction < 1:
        found.append(("left", f"{seconds * (1 / fraction - 1):.0f} s"))
    return found


def _of_scorable(key: str, metrics: Metrics) -> str:
    """Say how many rollouts a mean leaves out because they could not be scored; empty if none."""
    if key == "eval/accuracy":
        lost, scored = metrics.get("eval/unscorable"), metrics.get("eval/samples")
        total = (lost or 0) + (scored or 0)
    elif key == "reward/all":
        lost, total = metrics.get("unscorable"), metrics.get("rollouts") or 0
    else:
        return ""
    return f" ({lost} of {total} unscorable)" if lost else ""


def _outcome(summary: Metrics) -> str:
    stopped = str(summary.get("stopped") or "stopped before the first step")
    if summary.get("exit_code") not in (None, 0, 130):
        # Why is printed in full below, as the error of the command.
        stopped = "stopped early"
    text = f"{stopped}: {summary.get('steps', 0)} steps, {summary.get('rollouts', 0)} rollouts"
    text += f", trained {summary.get('rows', 0)} rows in {summary.get('seconds', 0.0):.1f} s"
    first, final = summary.get("accuracy_first"), summary.get("accuracy_final")
    if first is not None and final is not None:
        text += f"; held-out accuracy {first:.3f} -> {final:.3f}"
    return text
