"""The last steps of a candidate's process before it runs the candidate: everything here is one-way."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Sequence

from winnow.reward.code.inside import kernel
from winnow.reward.code.inside.limits import Limits

RESULTS = 3
"""File descriptor on which results leave; 0, 1 and 2 are the candidate's standard streams."""

_MEGABYTE = 1 << 20
_FILES = 64


def wire(descriptors: Sequence[int]) -> None:
    """Move descriptors to 0, 1, 2, ... in this order, and close every other one."""
    # Copies above the range first, so that no target is a source still needed.
    copies = [os.dup(descriptor) for descriptor in descriptors]
    high = max(copies) + 1
    moved = [os.dup2(copy, high + place) for place, copy in enumerate(copies)]
    for place, descriptor in enumerate(moved):
        os.dup2(descriptor, place)
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(len(moved), min(highest, 1 << 20))


def lock(limits: Limits, isolated: bool) -> None:
    """Apply resource limits and give up every right.

    Args:
        limits: what the program may use.
        isolated: whether the process is in namespaces of its own. If not, only the limits that cannot hurt
            the user's other processes apply, and no system call is filtered.

    Raises:
        OSError: naming the step the kernel refused.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _limit(resource.RLIMIT_AS, limits.memory_mb * _MEGABYTE)
    _limit(resource.RLIMIT_CPU, int(limits.seconds) + 2)
    _limit(resource.RLIMIT_FSIZE, limits.disk_mb * _MEGABYTE)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _FILES)
    if not isolated:
        if kernel.LINUX:
            kernel.no_new_privileges()
        return
    _limit(resource.RLIMIT_NPROC, limits.processes)
    _limit(resource.RLIMIT_MEMLOCK, 0)
    _limit(resource.RLIMIT_SIGPENDING, _FILES)
    _limit(resource.RLIMIT_MSGQUEUE, 0)
    kernel.drop_capabilities()
    kernel.no_new_privileges()
    kernel.die_with_parent()
    kernel.filter_syscalls()


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
