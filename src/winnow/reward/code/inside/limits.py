"""What one program may use; both sides of the pipe know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one program may use.

    Attributes:
        seconds: wall-clock time of the whole run; processor time is bounded by it, rounded up, plus one.
        memory_mb: address space of each process, in MiB.
        output: bytes on standard output, on standard error, and of one result.
        processes: processes and threads at a time, the first included.
        disk_mb: size of the writable folder and of any file, in MiB.
    """

    seconds: float
    memory_mb: int
    output: int
    processes: int = 8
    disk_mb: int = 16
