"""The clock of a worker: a few words of memory that it shares with the parent.

The worker writes when it begins an item, which costs less than a microsecond and cannot be held up; the parent
reads, and decides. So the bound on an item runs from its true beginning and no message has to announce it.

Code that a worker runs may write into that memory what it likes, so the parent believes none of it for long, see
`winnow.reward.pool.blame`. On Linux the descriptor of the memory is sealed: code that only writes to every descriptor
it finds does not reach the clock, and none can shrink the file, which would end the parent with SIGBUS.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import tempfile
import time

if sys.platform != "win32":
    import fcntl

SIZE = mmap.PAGESIZE

NUMBER, BEGUN, SKIP_FROM, SKIP_TO = range(4)

# Linux 5.1; Python names it from 3.13 on.
_SEAL_FUTURE_WRITE = 0x10


class Clock:
    """Four words: the number of the latest item, when it began, and the numbers taken back.

    Each word has one writer and is written whole. Only a value that stayed for the length of a timeout is acted on,
    so the order in which two words become visible does not matter.

    Args:
        file: descriptor of the shared file, or its name on Windows; see `handle`.
    """

    def __init__(self, file: int | str):
        self.handle: int | str = file
        """What another process opens it with; close it there and here once it has been passed on."""
        if isinstance(file, str):
            self._map = mmap.mmap(-1, SIZE, file)  # type: ignore[arg-type, unused-ignore]
        else:
            self._map = mmap.mmap(file, SIZE)
        self._words = memoryview(self._map).cast("q")

    @classmethod
    def create(cls, identity: int) -> Clock:
        """Make the memory for one worker; ``identity`` is unique within this process."""
        if sys.platform == "win32":
            clock = cls(f"winnow-{os.getpid()}-{identity}-{time.monotonic_ns()}")
        else:
            clock = cls(_file())
        clock._words[NUMBER] = -1
        return clock

    @classmethod
    def join(cls, file: int | str) -> Clock:
        """Open, in the worker, what the parent made; nothing but the memory of the two gives access to it then."""
        clock = cls(file)
        if sys.platform == "linux" and isinstance(file, int):
            with contextlib.suppress(OSError):
                fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEAL_FUTURE_WRITE)
        clock.release()
        return clock

    def begin(self, number: int) -> int:
        """Start an item; the time, in nanoseconds, is returned."""
        now = time.monotonic_ns()
        self._words[NUMBER] = number
        self._words[BEGUN] = now
        return now

    def end(self) -> None:
        """Say that no item is running."""
        self._words[BEGUN] = 0

    def skips(self, number: int) -> bool:
        """Tell whether the parent took this item back."""
        return self._words[SKIP_FROM] <= number < self._words[SKIP_TO]

    def take_back(self, first: int, stop: int) -> None:
        """Ask the worker not to begin the items ``first`` up to ``stop``."""
        self._words[SKIP_FROM] = first
        self._words[SKIP_TO] = stop

    def latest(self) -> int:
        """The number of the item begun last, -1 before the first."""
        return self._words[NUMBER]

    def running(self) -> float | None:
        """For how many seconds the latest item has been running; None if it has ended."""
        begun = self._words[BEGUN]
        return (time.monotonic_ns() - begun) / 1e9 if begun else None

    def release(self) -> None:
        """Close the descriptor; the memory stays shared."""
        if isinstance(self.handle, int):
            os.close(self.handle)


def _file() -> int:
    if sys.platform == "linux":
        file = os.memfd_create("winnow-clock", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.ftruncate(file, SIZE)
    if sys.platform == "linux":
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return file
