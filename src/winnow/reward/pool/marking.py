"""A mark in the environment of a pool's processes, by which they are found when nothing else leads to them.

The nursery adopts what workers leave behind and ends it. When it is killed itself, a process that has moved away from
its parent and its group is nobody's; but it still has the environment it came from.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import uuid
from pathlib import Path


def new_mark() -> str:
    """The name of a variable to set in the environment of the processes; one that they start has it as well."""
    return f"WINNOW_POOL_{uuid.uuid4().hex}"


def kill_marked(mark: str, seconds: float) -> None:
    """Kill every process that has the mark, also those that appear meanwhile (Linux; elsewhere none are found).

    A program that was started with an environment of its own choice is not found.

    Args:
        mark: the name from `new_mark`.
        seconds: when to give up, should new ones appear as fast.
    """
    deadline = time.monotonic() + seconds
    while sum(_killed(pid, mark) for pid in _others()) and time.monotonic() < deadline:
        time.sleep(0.005)


def _others() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _killed(pid: int, mark: str) -> bool:
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError):
        # Opened before it is looked at: the number may go to another process at any time, the handle does not.
        handle = os.pidfd_open(pid)
        try:
            if f"\0{mark}=".encode() in b"\0" + Path(f"/proc/{pid}/environ").read_bytes():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        finally:
            os.close(handle)
    return False
