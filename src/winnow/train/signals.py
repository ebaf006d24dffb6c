"""Asking a run to stop: the first signal ends the step in peace, the second one ends the process."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While entered, SIGINT and SIGTERM set a flag; a second one acts as it would have without us.

    Handlers can only be set in the main thread; elsewhere nothing is caught, and `stop` can be called instead.

    Attributes:
        name: the signal that asked to stop, or None.
    """

    def __init__(self) -> None:
        self.name: str | None = None
        self._before: dict[signal.Signals, Any] = {}

    def stop(self, name: str = "stop()") -> None:
        """Ask the run to stop at the next chance."""
        self.name = name

    def __call__(self) -> bool:
        """Return whether someone asked to stop."""
        return self.name is not None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.stop(signal.Signals(number).name)
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
