"""What the operating system can enforce on a worker, where it can."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

# As a number, because Windows has no name for it.
KILL = 9

_SET_DEATH_SIGNAL = 1
_SET_SUBREAPER = 36


def die_with_parent(number: int = KILL) -> None:
    """Get a signal when the thread that started this process ends (Linux); 0 for none."""
    _prctl(_SET_DEATH_SIGNAL, number)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies (Linux)."""
    _prctl(_SET_SUBREAPER, 1)


def no_core_dump() -> None:
    """Leave no file behind on a crash."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def bound_memory(megabytes: int) -> None:
    """Let this process map ``megabytes`` more than it has mapped so far.

    Address space and not resident memory, because that is what the kernel refuses in time: an allocation fails with
    MemoryError instead of the machine running out. macOS and Windows do not enforce it.
    """
    if sys.platform != "win32":
        mapped = _mapped() + megabytes * 2**20
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY:
            mapped = min(mapped, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (mapped, hard))


def lift_memory() -> None:
    """Take `bound_memory` back, so that there is room to say what happened."""
    if sys.platform != "win32":
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def children() -> list[int]:
    """The processes whose parent is this one (Linux; elsewhere none are found)."""
    own = os.getpid()
    with contextlib.suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/self/task/{own}/children").read_text().split()]
    return [int(pid) for pid in _processes() if _parent(pid) == own]


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The command's name stands in parentheses and may itself contain some.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return -1


def _mapped() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _libc().prctl(option, value, 0, 0, 0)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
