"""The files that carry a job in and its results out.

The mailbox holds a head, one line of JSON for the launcher, then the job, for the candidate's process only. The
answer replaces both. What a candidate writes goes from its pipes to files of the trusted process without passing
through the launcher's memory, which every later candidate starts as a copy of.
"""

from __future__ import annotations

import json
import os
from typing import Any

_LONGEST_HEAD = 4096


def head_of(mailbox: int) -> dict[str, Any]:
    """Read the head of a mailbox, and nothing behind it."""
    head = bytearray()
    while not head.endswith(b"\n"):
        byte = os.pread(mailbox, 1, len(head))
        if not byte or len(head) > _LONGEST_HEAD:
            raise OSError("the mailbox has no head")
        head += byte
    parsed: dict[str, Any] = json.loads(head)
    return parsed


def job_of(mailbox: int) -> bytes:
    """Read the job of a mailbox."""
    os.lseek(mailbox, 0, os.SEEK_SET)
    data = bytearray()
    while piece := os.read(mailbox, 1 << 20):
        data += piece
    return bytes(data).partition(b"\n")[2]


def answer(mailbox: int, content: dict[str, Any]) -> None:
    """Put an answer in place of what was in the mailbox."""
    os.ftruncate(mailbox, 0)
    os.lseek(mailbox, 0, os.SEEK_SET)
    write(mailbox, json.dumps(content).encode())


def move(pipe: int, file: int, most: int) -> int:
    """Move at most ``most`` bytes from a pipe to a file, and return how many; 0 at the end of the pipe."""
    if hasattr(os, "splice"):
        return os.splice(pipe, file, most)
    data = os.read(pipe, most)
    write(file, data)
    return len(data)


def write(descriptor: int, data: bytes) -> None:
    """Write all of ``data``."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
