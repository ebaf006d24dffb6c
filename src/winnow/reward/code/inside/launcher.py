"""The launcher: a small trusted process that forks every candidate, so that none has to start an interpreter.

It is started once per process that scores, by ``python -c``, with the number of its control socket and its
parent's process id. One loop watches all runs. It ends when the socket closes or the parent is gone, and
every candidate with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time

from winnow.reward.code.inside import kernel, program, root, syscalls, users
from winnow.reward.code.inside.job import Job

# What programs import most, loaded once for all of them. Every page costs each fork.
_COMMON = "bisect collections copy functools heapq itertools json math operator random re string typing"
_NAMESPACES = kernel.NEW_MOUNT | kernel.NEW_NET | kernel.NEW_IPC | kernel.NEW_UTS
# Mailbox, output, errors, results, connection.
_DESCRIPTORS = 5
_PATIENCE = 1.0
_TICK = 0.02


class Launcher:
    """The loop over the control socket and the runs.

    Args:
        control: each message on it is one byte with the descriptors of a job.
        parent: process id of the process that started this one.
        user: user and group of candidates; None runs them without isolation.
        proc: descriptor of the ``/proc`` that shows this process.
    """

    def __init__(self, control: socket.socket, parent: int, user: tuple[int, int] | None, proc: int) -> None:
        self._control = control
        self._parent = parent
        self._user = user
        self._proc = proc
        self._owners: dict[int, Job] = {}
        self._jobs: set[Job] = set()
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)

    def serve(self) -> None:
        """Run until the parent leaves."""
        # A copy of the socket in another child of the parent would keep it open, hence the look at the parent.
        while os.getppid() == self._parent:
            ready = [descriptor for descriptor, _ in self._poller.poll(1000 * self._wait() + 1)]
            for descriptor in ready:
                self._event(descriptor)
            # Last, as a new job may get a descriptor that the list still has from one that just ended.
            if self._control.fileno() in ready and not self._accept():
                return
            now = time.monotonic()
            for job in [job for job in self._jobs if job.deadline <= now]:
                self._stop(job, "timeout")
            for job in [job for job in self._jobs if job.process < 0 and job.ended()]:
                self._finish(job)
            if self._user is None:
                self._sweep()

    def stop(self) -> None:
        """Kill all runs."""
        for job in self._jobs:
            job.kill("left")

    def _wait(self) -> float:
        if not self._jobs:
            return _PATIENCE
        if any(job.process < 0 for job in self._jobs):
            return _TICK
        first = min(job.deadline for job in self._jobs)
        return min(_PATIENCE, max(0.0, first - time.monotonic()))

    def _accept(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, 1, _DESCRIPTORS)
        if not data or len(descriptors) != _DESCRIPTORS:
            return False
        *opened, connection = descriptors
        with contextlib.suppress(OSError):
            # What the kernel refused stands in the mailbox.
            job = Job(opened, socket.socket(fileno=connection), self._user, self._proc)
            self._jobs.add(job)
            for descriptor in job.descriptors():
                self._owners[descriptor] = job
                self._poller.register(descriptor, select.POLLIN)
        return True

    def _event(self, descriptor: int) -> None:
        job = self._owners.get(descriptor)
        if job is None:
            return
        if descriptor == job.process:
            self._finish(job)
        elif not job.holds(descriptor):
            self._stop(job, "left")
        else:
            more = job.read(descriptor)
            if job.end != "exit":
                self._forget(job, keep=job.process)
            elif not more:
                self._release(descriptor)

    def _stop(self, job: Job, end: str) -> None:
        job.kill(end)
        # From here on only its end is of interest.
        job.deadline = float("inf")
        self._forget(job, keep=job.process)

    def _finish(self, job: Job) -> None:
        self._forget(job, keep=-1)
        self._jobs.discard(job)
        job.finish()

    def _forget(self, job: Job, keep: int) -> None:
        for descriptor in job.descriptors():
            if descriptor != keep and descriptor in self._owners:
                self._release(descriptor)

    def _release(self, descriptor: int) -> None:
        del self._owners[descriptor]
        self._poller.unregister(descriptor)

    def _sweep(self) -> None:
        """Kill adopted orphans: what a candidate without isolation left behind."""
        known = {job.pid for job in self._jobs}
        with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as source:
            for pid in {int(word) for word in source.read().split()} - known:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def start() -> None:
    """Set up, say so on the control socket (``{"error": ""}``, or what the kernel refused), and serve.

    The command line holds the socket's descriptor, the parent's process id, and ``isolated`` or ``unsafe``.
    """
    descriptor, parent, mode = sys.argv[1:4]
    sys.path[:] = [path for path in sys.path if path]
    os.environ.clear()
    for name in _COMMON.split():
        importlib.import_module(name)
    with socket.socket(fileno=int(descriptor)) as control:
        user, proc = None, -1
        try:
            if mode == "isolated":
                user, proc = _isolate()
            elif kernel.LINUX:
                kernel.adopt_orphans()
        except OSError as error:
            control.sendall(json.dumps({"error": str(error)}).encode())
            return
        control.sendall(json.dumps({"error": ""}).encode())
        program.prepare()
        # No collection may run between the two halves of a fork, and none should copy pages in a child.
        gc.collect()
        gc.disable()
        gc.freeze()
        launcher = Launcher(control, int(parent), user, proc)
        try:
            launcher.serve()
        finally:
            launcher.stop()


def _isolate() -> tuple[tuple[int, int], int]:
    if not syscalls.supported():
        raise OSError("seccomp filter: the system calls of this processor are not known")
    kernel.prepare_filter()
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    what = "mount, network, IPC and UTS namespaces"
    try:
        # Only user 0 may; and only in the host's own user namespace can it map another user later.
        kernel.unshare(_NAMESPACES, what)
        os.setgroups([])
    except PermissionError:
        users.unshare_with_nobody(proc, _NAMESPACES, what)
    socket.sethostname("sandbox")
    user = users.choose()
    root.enter()
    return user, proc
