"""What this operating system offers to isolate a candidate, found out by doing it."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass

from winnow.reward.code import sandbox
from winnow.reward.code.sandbox import Limits, Refused

LAYERS = (
    "user namespace without privileges",
    "mount namespace with a private read-only root",
    "PID namespace, killed as a whole",
    "network namespace without interfaces",
    "IPC and UTS namespaces",
    "no environment, no inherited files",
    "resource limits",
    "no capabilities, no_new_privs",
    "seccomp filter of system calls",
)
"""All layers; a candidate runs within all of them or not at all."""

# Prints what should hold inside; it is our own program, so its word counts.
_TRIAL = """
import os, socket
def refused(call, *args):
    try:
        call(*args)
    except OSError:
        return True
    return False
def reach():
    socket.socket()
def breed():
    for _ in range(LIMIT):
        if os.fork() == 0:
            os.read(hold, 1)
            os._exit(0)
hold, _ = os.pipe()
facts = [
    (0, refused(os.setgroups, [])), (1, refused(os.listdir, "/proc")), (1, refused(open, "/x", "w")),
    (2, os.getpid() == 1), (3, refused(socket.if_nameindex)), (4, os.uname().nodename == "sandbox"),
    (5, not os.environ), (6, refused(breed)), (7, refused(os.setuid, 1)), (8, refused(reach)),
]
print(*[layer for layer, holds in facts if not holds])
"""


@dataclass(frozen=True)
class Isolation:
    """What was found.

    Attributes:
        available: whether candidates can be isolated.
        layers: the layers in force.
        missing: what stands in the way, in words; empty if available.
    """

    available: bool
    layers: tuple[str, ...]
    missing: tuple[str, ...]

    def describe(self) -> str:
        """Return one line for ``winnow check`` and for errors."""
        if self.available:
            return f"available: {', '.join(self.layers)}"
        return f"not available: {'; '.join(self.missing)}"


def isolation() -> Isolation:
    """Try to run a small program under all layers.

    The trial is made once per process and takes about a quarter of a second; the result is kept.
    """
    return _trial(os.getpid())


@functools.lru_cache(maxsize=1)
def _trial(process: int) -> Isolation:
    if not sys.platform.startswith("linux"):
        return Isolation(False, (), (f"isolation needs Linux, this is {sys.platform}",))
    limits = Limits(seconds=10.0, memory_mb=256, output=1 << 12)
    try:
        run = sandbox.run(_TRIAL.replace("LIMIT", str(limits.processes)), limits, stdin="")
    except (Refused, OSError) as error:
        return Isolation(False, (), (_hint(str(error)),))
    if run.end != "exit" or run.status != 0:
        detail = run.messages[0] if run.messages else run.err[-200:].decode("utf-8", "replace")
        return Isolation(False, (), (f"the trial program ended by {run.end}, status {run.status}: {detail}",))
    failed = sorted({int(word) for word in run.out.split()})
    missing = tuple(f"no effect: {LAYERS[index]}" for index in failed)
    kept = tuple(layer for index, layer in enumerate(LAYERS) if index not in failed)
    return Isolation(not missing, kept, missing)


def _hint(reason: str) -> str:
    if "namespace" in reason and "not permitted" in reason:
        return (
            f"{reason} (user namespaces are switched off here: see the sysctls user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, or the seccomp "
            "profile of the container)"
        )
    return reason
