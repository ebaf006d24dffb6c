"""The nursery: a process that loads the reward once and makes workers, each within milliseconds.

It is a fresh interpreter, because the user's process may have threads and GPU contexts that no fork survives, and it
has one thread, so its own forks are safe. It also is the parent of everything that workers leave behind: a process
that outlives its worker is adopted, killed and reaped here.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import selectors
import signal
import socket
import sys
import threading

from winnow.reward.base import Reward
from winnow.reward.pool import limits
from winnow.reward.pool.boot import command
from winnow.reward.pool.clock import Clock
from winnow.reward.pool.protocol import MESSAGE, NEVER_STARTED, Said, Setup, framed, read_frame
from winnow.reward.pool.worker import Worker, failure, load

# How often to look whether the parent is still there, for the case that a copy of our connection outlives it.
LOOK_S = 1.0


class Nursery:
    """The loop of the nursery.

    Args:
        control: the connection to the parent.
        setup: the settings of the pool.
        reward: the loaded reward to fork workers with, or None to start fresh interpreters.
    """

    def __init__(self, control: socket.socket, setup: Setup, reward: Reward | None):
        self._control = control
        self._setup = setup
        self._reward = reward
        self._workers: dict[int, int] = {}
        # What loading the reward started, such as a server that all workers ask, stays until the end.
        self._kept = set(limits.children())
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)

    def run(self) -> None:
        """Serve until the parent closes the connection or is gone, then end every descendant."""
        # A parent that goes away in the middle of a message is the same as one that closes the connection.
        with contextlib.suppress(ConnectionError):
            while os.getppid() == self._setup.parent:
                ready = {key.fileobj for key, _ in self._selector.select(LOOK_S)}
                if self._wake in ready:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                    self._reap()
                if self._control in ready and not self._obey():
                    break
        self._end()

    def _obey(self) -> bool:
        message, files, _, _ = socket.recv_fds(self._control, MESSAGE.size, 2)
        if len(message) < MESSAGE.size:
            return False
        kind, identity, _ = MESSAGE.unpack(message)
        if kind == b"L":
            self._launch(identity, *files)
        else:
            for pid, known in self._workers.items():
                if known == identity:
                    _kill(pid)
        return True

    def _launch(self, identity: int, stream: int, clock: int) -> None:
        try:
            pid = self._fork(stream, clock) if self._reward is not None else _spawn(stream, clock)
        except OSError:
            # Too many processes or no memory: for the parent, a worker that died before its first item.
            self._tell(identity, NEVER_STARTED)
        else:
            self._workers[pid] = identity
        os.close(stream)
        os.close(clock)

    def _fork(self, stream: int, clock: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            os.setsid()
            limits.die_with_parent()
            limits.adopt_orphans()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            self._control.close()
            os.close(self._wake)
            os.close(self._waker)
            assert self._reward is not None
            shared = Clock.join(clock)
            Worker(socket.socket(fileno=stream), shared, self._reward, self._setup).run()
            status = 0
        finally:
            # Nothing of the nursery may run in its copy, not even what was registered for its exit.
            os._exit(status)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                break
            identity = self._workers.pop(pid, None)
            if identity is not None:
                _kill_group(pid)
                self._tell(identity, os.waitstatus_to_exitcode(status))
        self._sweep()

    def _sweep(self) -> None:
        for pid in limits.children():
            if pid not in self._workers and pid not in self._kept:
                _kill(pid)

    def _tell(self, identity: int, status: int) -> None:
        self._control.sendall(MESSAGE.pack(b"D", identity, status))

    def _end(self) -> None:
        for pid in self._workers:
            _kill(pid)
        # Each death may hand us further processes.
        while True:
            self._workers.clear()
            self._kept.clear()
            self._sweep()
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def _spawn(stream: int, clock: int) -> int:
    for descriptor in (stream, clock):
        os.set_inheritable(descriptor, True)
    arguments = command("worker", "main", stream, clock)
    return os.posix_spawn(arguments[0], arguments, os.environ)


def _kill(pid: int) -> None:
    # The group first: it is killed as one, so that nothing in it can fork its way out.
    _kill_group(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def forkable() -> bool:
    """Whether this process, with the reward loaded, can be forked: no other thread and no GPU context."""
    torch = sys.modules.get("torch")
    return threading.active_count() == 1 and not (torch is not None and torch.cuda.is_initialized())


def main(control: int) -> None:
    """Entry point, with the descriptor of the connection to the parent."""
    stream = socket.socket(fileno=control)
    # The parent learns of our end from the end of the connection, so no program started from here may have a copy.
    stream.set_inheritable(False)
    frame = read_frame(stream)
    if frame is None:
        return
    setup: Setup = pickle.loads(frame)
    # A parent that dies while the reward is being loaded would not be noticed.
    limits.die_with_parent()
    limits.adopt_orphans()
    reward: Reward | None = None
    try:
        if setup.start != "spawn":
            reward = load(setup.reward)
            if setup.start == "auto" and not forkable():
                reward = None
        said = Said("ready", content={"start": "spawn" if reward is None else "fork"})
    except BaseException as error:
        said = Said("broken", content={"message": failure(error)})
    # From here on it is noticed, whichever thread of the parent started this.
    limits.die_with_parent(0)
    stream.sendall(framed(b"[" + said.encode() + b"]"))
    if said.kind == "ready":
        gc.collect()
        gc.freeze()
        Nursery(stream, setup, reward).run()
