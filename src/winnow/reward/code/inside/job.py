"""One run of a program, as the launcher sees it: start, watch, end, answer.

No line of the candidate's runs here, and what it writes is counted and moved on, not looked at. It is process
1 of its PID namespace: when it ends or is killed, the kernel kills whatever it started.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.reward.code.inside import candidate, files, kernel, users
from winnow.reward.code.inside.limits import Limits

_CHUNK = 1 << 16
_HAS_PIDFD = hasattr(os, "pidfd_open")


@dataclass
class _Stream:
    """Where the bytes of a pipe go, how many have gone, and how many may."""

    file: int
    room: int
    size: int = 0


class Job:
    """A program that runs.

    ``{"end", "status"}`` or ``{"error"}`` is left in the mailbox; one byte on the connection says that it is
    there.

    Args:
        descriptors: the mailbox, and the files for standard output, standard error and results.
        connection: to the trusted process; it closing ends the run.
        user: user and group of the candidate; None runs it without isolation.
        proc: descriptor of the ``/proc`` that shows the launcher (unused without isolation).

    Raises:
        OSError: if the system refused a step; the answer says so too.
    """

    def __init__(
        self, descriptors: Sequence[int], connection: socket.socket, user: tuple[int, int] | None, proc: int
    ) -> None:
        self.connection = connection
        self.pid = 0
        self.process = -1
        self.end = "exit"
        self._mailbox, *self._files = descriptors
        self._user = user
        self._pipes: dict[int, _Stream] = {}
        self._life = self._ready = -1
        self._work = ""
        try:
            head = files.head_of(self._mailbox)
            self.limits = Limits(**head["limits"])
            self._start(head["results"], proc)
        except OSError as error:
            self.close({"error": str(error)})
            raise
        self.deadline = time.monotonic() + self.limits.seconds

    def descriptors(self) -> Iterator[int]:
        """What to wait on: output, the end of the process, and the connection."""
        yield from self._pipes
        yield self.connection.fileno()
        if self.process >= 0:
            yield self.process

    def holds(self, descriptor: int) -> bool:
        """Whether the descriptor is one of the output pipes."""
        return descriptor in self._pipes

    def read(self, descriptor: int) -> bool:
        """Take what is there; False at the end of the stream. Too much of it ends the run."""
        stream = self._pipes[descriptor]
        moved = files.move(descriptor, stream.file, min(_CHUNK, stream.room + 1 - stream.size))
        stream.size += moved
        if stream.size > stream.room:
            self.kill("output")
        return moved > 0

    def kill(self, end: str) -> None:
        """Kill the candidate and everything it started, for the reason ``end``."""
        if self.end == "exit":
            self.end = end
        if self._user is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> bool:
        """Whether the candidate is a zombie; until it is waited for, its id stays its own."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def finish(self) -> None:
        """Wait for the candidate, which has ended, and answer."""
        if self._user is None:
            self.kill("exit")
        status = os.waitpid(self.pid, 0)[1]
        for descriptor in self._pipes:
            self._drain(descriptor)
        ready = os.read(self._ready, _CHUNK)
        if ready != candidate.READY and self.end == "exit":
            self.close({"error": ready.decode("utf-8", "replace") or "a process died while it was set up"})
        else:
            self.close({"end": self.end, "status": status})

    def close(self, answer: dict[str, Any]) -> None:
        """Leave the answer in the mailbox, and let go of everything."""
        with contextlib.suppress(OSError):
            files.answer(self._mailbox, answer)
            self.connection.send(b".")
        self.connection.close()
        for descriptor in (*self._pipes, self._mailbox, *self._files, self._life, self._ready, self.process):
            if descriptor >= 0:
                os.close(descriptor)
        if self._work:
            shutil.rmtree(self._work, ignore_errors=True)

    def _start(self, room_for_results: int, proc: int) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        out, err, results, life, ready = (os.pipe() for _ in range(5))
        self._life, self._ready = life[1], ready[0]
        rooms = (self.limits.output, self.limits.output, room_for_results)
        sources = (out[0], err[0], results[0])
        self._pipes = {
            source: _Stream(file, room) for source, file, room in zip(sources, self._files, rooms, strict=True)
        }
        if self._user is None:
            self._work = tempfile.mkdtemp(prefix="winnow-code-")
        try:
            self.pid = os.fork() if self._user is None else kernel.fork_into(candidate.NAMESPACES)
            if self.pid == 0:
                birth = candidate.Birth(self._mailbox, null, out[1], err[1], results[1], life[0], ready[1])
                candidate.become(birth, self.limits, self._user, self._work)
            self._release(proc)
        finally:
            for descriptor in (null, out[1], err[1], results[1], life[0], ready[1]):
                os.close(descriptor)

    def _release(self, proc: int) -> None:
        try:
            if self._user is not None:
                users.offer_to_oom_killer(proc, str(self.pid))
                users.write_maps(proc, str(self.pid), *self._user)
            if _HAS_PIDFD:
                self.process = os.pidfd_open(self.pid)
        except OSError:
            self.kill("exit")
            os.waitpid(self.pid, 0)
            raise
        os.write(self._life, b"!")

    def _drain(self, descriptor: int) -> None:
        # Everything that wrote is dead, so what is in the pipe is all there is.
        os.set_blocking(descriptor, False)
        with contextlib.suppress(BlockingIOError):
            while self.end != "output" and self.read(descriptor):
                pass
