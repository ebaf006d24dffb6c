"""How the parent gets workers: from a nursery, or by starting each itself where there can be none."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from typing import IO, Protocol

from winnow import errors
from winnow.reward.pool.boot import command, environment
from winnow.reward.pool.clock import Clock
from winnow.reward.pool.judging import brief
from winnow.reward.pool.limits import KILL
from winnow.reward.pool.marking import kill_marked, new_mark
from winnow.reward.pool.protocol import MESSAGE, Setup, framed, read_frame, said

# Loading a reward may mean importing a large library over a network.
LOADING_S = 300.0
CLOSING_S = 5.0

Death = tuple[int, int]


class Lost(Exception):
    """The nursery is gone, and with it every worker."""


class Launcher(Protocol):
    """Makes workers, kills them, and tells which have died."""

    loads: bool
    """Whether a worker still has to load the reward when it starts."""

    def launch(self, identity: int) -> tuple[socket.socket, Clock]:
        """Start a worker; returns the connection to it and its clock."""
        ...

    def kill(self, identity: int) -> None:
        """Kill a worker and what it started."""
        ...

    def deaths(self) -> list[Death]:
        """Workers that died since the last call, with their exit codes (negative: the signal)."""
        ...

    def close(self) -> None:
        """End everything."""
        ...


class NurseryLauncher:
    """The parent's side of a nursery, see `winnow.reward.pool.nursery`.

    Raises:
        RewardError: if the reward cannot be loaded there.
    """

    def __init__(self, setup: Setup):
        self.control, theirs = socket.socketpair()
        self._mark = new_mark()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        with theirs:
            self._process = subprocess.Popen(
                command("nursery", "main", theirs.fileno()),
                env={**environment(), self._mark: "1"},
                cwd=setup.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            self.loads = self._load(setup) == "spawn"
        except BaseException:
            # It may be in the middle of an import and would not notice that we leave.
            self._process.kill()
            self.close()
            raise
        self.control.setblocking(True)

    def launch(self, identity: int) -> tuple[socket.socket, Clock]:
        """Start a worker."""
        ours, theirs = socket.socketpair()
        clock = Clock.create(identity)
        try:
            with theirs:
                self._send(MESSAGE.pack(b"L", identity, 0), [theirs.fileno(), int(clock.handle)])
        except Lost:
            ours.close()
            raise
        finally:
            clock.release()
        return ours, clock

    def kill(self, identity: int) -> None:
        """Kill a worker and what it started."""
        self._send(MESSAGE.pack(b"K", identity, 0), [])

    def deaths(self) -> list[Death]:
        """Workers that died since the last call."""
        found: list[Death] = []
        while True:
            try:
                message = self.control.recv(MESSAGE.size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return found
            except ConnectionError:
                message = b""
            if len(message) < MESSAGE.size:
                raise Lost
            _, identity, status = MESSAGE.unpack(message)
            found.append((identity, status))

    def close(self) -> None:
        """End the nursery and everything that came from it; returns when they are gone."""
        self.control.close()
        if self._end() != 0:
            # It was killed, and could not see to what it had adopted.
            kill_marked(self._mark, CLOSING_S)
        self._errors.close()

    def _end(self) -> int:
        try:
            return self._process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _send(self, message: bytes, files: list[int]) -> None:
        try:
            socket.send_fds(self.control, [message], files)
        except ConnectionError as error:
            raise Lost from error

    def _load(self, setup: Setup) -> str:
        self.control.settimeout(LOADING_S)
        try:
            self.control.sendall(framed(setup.encode()))
            words = said(read_frame(self.control) or b"[]")
        except TimeoutError as error:
            raise errors.RewardError(
                f"loading the reward in a worker process took more than {LOADING_S:g} s and was stopped"
            ) from error
        except (ConnectionError, ValueError, TypeError):
            words = []
        if not words:
            raise errors.RewardError(
                f"loading the reward in a worker process ended it with exit code {self._end()}{self._last()}"
            )
        content = words[0].content or {}
        if words[0].kind == "broken":
            raise broken(content["message"])
        return str(content.get("start"))

    def _last(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4096))
        text = self._errors.read().decode(errors="replace").strip()
        return f"; its last words:\n{text}" if text else ""


class DirectLauncher:
    """Workers started by the parent itself, for systems without a nursery.

    A worker is killed alone there: what it started lives on if it moved to another process group.
    """

    loads = True

    def __init__(self, setup: Setup):
        self._folder = setup.folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def launch(self, identity: int) -> tuple[socket.socket, Clock]:
        """Start a worker."""
        ours, theirs = socket.socketpair()
        clock = Clock.create(identity)
        windows = sys.platform == "win32"
        handles = [] if windows else [theirs.fileno(), int(clock.handle)]
        handle = str(clock.handle) if windows else ",".join(map(str, handles))
        with theirs:
            process = subprocess.Popen(
                command("worker", "main_without_nursery", handle),
                env=environment(),
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=handles,
            )
            if sys.platform == "win32":
                shared = theirs.share(process.pid)
                assert process.stdin is not None
                process.stdin.write(len(shared).to_bytes(4, "little") + shared)
                process.stdin.flush()
        clock.release()
        self._processes[identity] = process
        return ours, clock

    def kill(self, identity: int) -> None:
        """Kill a worker, and its process group where there is one."""
        process = self._processes[identity]
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, KILL)
        process.kill()

    def deaths(self) -> list[Death]:
        """Workers that died since the last call."""
        found = []
        for identity, process in list(self._processes.items()):
            status = process.poll()
            if status is not None:
                del self._processes[identity]
                assert process.stdin is not None
                process.stdin.close()
                found.append((identity, status))
        return found

    def close(self) -> None:
        """End every worker."""
        for identity in self._processes:
            self.kill(identity)
        deadline = time.monotonic() + CLOSING_S
        while self._processes and time.monotonic() < deadline:
            self.deaths()
            time.sleep(0.005)


def launcher(setup: Setup) -> Launcher:
    """The best launcher this system has."""
    if not sys.executable:
        raise errors.ConfigError("workers need a Python interpreter to start, and sys.executable is empty")
    try:
        return DirectLauncher(setup) if sys.platform == "win32" else NurseryLauncher(setup)
    except OSError as error:
        raise errors.RewardError(f"the system refused to start the process that makes workers: {error}") from error


def broken(message: str) -> errors.RewardError:
    """The error for a reward that a worker cannot load."""
    return errors.RewardError(f"the reward cannot be loaded in a worker process: {brief(message, 4000)}")
