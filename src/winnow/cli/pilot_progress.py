"""What a person sees while a pilot draws: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from winnow.train.prepare import Setup

SECONDS_BETWEEN = 10.0


class Display:
    """Shows notes, and how many prompts are done.

    Args:
        progress: the bar, None where there is no terminal or quiet is asked for.
        quiet: show notes only.
    """

    def __init__(self, progress: Progress | None, quiet: bool) -> None:
        self._progress, self._quiet = progress, quiet
        self._bar = None if progress is None else progress.add_task("prompts", total=None)
        self._shown = monotonic()

    def start(self, setup: Setup, folder: Path | None) -> None:
        """Show what is measured and what loading it had to say."""
        if not self._quiet:
            where = "" if folder is None else f"; writing {folder}"
            self._say(f"pilot of {setup.task.name} with {setup.model_name}{where}")
        for text in setup.notes:
            self.note(text)

    def step(self, done: int, asked: int) -> None:
        """Show that ``done`` of the prompts ``asked`` for are measured."""
        if self._progress is not None and self._bar is not None:
            self._progress.update(self._bar, completed=done, total=asked)
        elif done and not self._quiet and monotonic() - self._shown >= SECONDS_BETWEEN:
            self._shown = monotonic()
            self._say(f"{done:,} of {asked:,} prompts")

    def note(self, text: str) -> None:
        """Show something a person should read."""
        self._say(f"note: {text}")

    def _say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(escape(text), highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)


@contextmanager
def make(quiet: bool) -> Iterator[Display]:
    """Open the display that fits stderr; the bar is gone afterwards."""
    if quiet or not sys.stderr.isatty():
        yield Display(None, quiet)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        yield Display(progress, quiet)
