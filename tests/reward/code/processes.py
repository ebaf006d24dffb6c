"""Which processes there are."""

import time
from collections.abc import Iterable
from pathlib import Path

from winnow.reward.code import sandbox


def children(pid: int) -> list[int]:
    """Process ids of all descendants."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


def launcher(isolated: bool = True) -> int:
    """The launcher process of this process, started if need be."""
    return sandbox._launcher(isolated).process.pid


def command(pid: int) -> bytes:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_within(pids: Iterable[int], seconds: float) -> bool:
    """Wait for processes to end."""
    until = time.monotonic() + seconds
    while any(map(alive, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
