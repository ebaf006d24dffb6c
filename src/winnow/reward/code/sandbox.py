"""The trusted side's end of the sandbox: one launcher per process, jobs from any thread."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow.reward.code.inside import frames
from winnow.reward.code.inside.limits import Limits

__all__ = ["Limits", "Refused", "Run", "run"]

_HERE = Path(__file__).parent
_PACKAGES = {"winnow.reward.code": _HERE, "winnow.reward": _HERE.parent, "winnow": _HERE.parent.parent}
# The packages above the launcher's are declared rather than imported: they would bring numpy with them.
_BOOT = "import sys,types\n" + "".join(
    f"m=types.ModuleType({name!r});m.__path__=[{str(path)!r}];sys.modules[{name!r}]=m\n"
    for name, path in _PACKAGES.items()
)
_START = _BOOT + "from winnow.reward.code.inside import launcher\nlauncher.start()"
_STARTUP_SECONDS = 30.0
_GRACE_SECONDS = 10.0
_TRIES = 3


class Refused(Exception):
    """The operating system refused a step of the isolation, which the message names."""


@dataclass(frozen=True)
class Run:
    """What one run of a program left.

    Attributes:
        end: ``exit``, ``timeout`` (killed), or ``output`` (killed, or ended, with more than allowed).
        status: wait status of its first process.
        out: bytes from standard output, at most one above the limit.
        err: bytes from standard error, likewise.
        messages: what the program's process reported; as trustworthy as the program itself.
    """

    end: str
    status: int
    out: bytes
    err: bytes
    messages: Sequence[Any]


def run(
    program: str,
    limits: Limits,
    *,
    function: str = "",
    inputs: Sequence[Any] = (),
    stdin: str | None = None,
    isolated: bool = True,
) -> Run:
    """Run a program once, on all ``inputs`` of a function or on one ``stdin``.

    May be called from any thread; calls run side by side.

    Args:
        program: source text.
        limits: what it may use.
        function: name of the function to call, where ``stdin`` is None.
        inputs: the encoded ``[args, kwargs]`` of each call.
        stdin: text on standard input.
        isolated: False runs it with the rights of this process.

    Raises:
        Refused: if the system refuses a step of the isolation.
    """
    head = {"limits": limits.__dict__, "results": limits.output * (len(inputs) + 1)}
    job = {"program": program, "function": function, "inputs": list(inputs), "stdin": stdin}
    data = f"{json.dumps(head)}\n{json.dumps(job)}".encode()
    reason = ""
    for _ in range(_TRIES):
        answer = _attempt(data, limits.seconds, isolated)
        if isinstance(answer, Run):
            return answer
        reason = answer
    raise Refused(reason)


def close() -> None:
    """End this process's launchers; the next run starts one again."""
    with _lock:
        for launcher in _launchers.values():
            launcher.close()
        _launchers.clear()


class _Launcher:
    """A launcher process and the socket that feeds it."""

    def __init__(self, isolated: bool) -> None:
        python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
        self.control, theirs = socket.socketpair()
        mode = "isolated" if isolated else "unsafe"
        with theirs:
            command = [python, "-S", "-s", "-B", "-c", _START, str(theirs.fileno()), str(os.getpid()), mode]
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd="/",
                # One order of sets for all runs: the verdict on a program must not depend on the day.
                env={"PYTHONHASHSEED": "0"},
            )
        self.control.settimeout(_STARTUP_SECONDS)
        try:
            hello = self.control.recv(1 << 16)
            error = json.loads(hello)["error"] if hello else "the launcher ended while starting"
        except OSError as failure:
            error = f"the launcher did not start: {failure}"
        self.control.settimeout(None)
        if error:
            self.close()
            raise Refused(error)

    def submit(self, descriptors: Sequence[int]) -> None:
        socket.send_fds(self.control, [b"j"], list(descriptors))

    def close(self) -> None:
        self.control.close()
        self.process.kill()
        self.process.wait()


_lock = threading.Lock()
_launchers: dict[bool, _Launcher] = {}


def _after_fork() -> None:
    # The parent's launcher serves the parent: it would not notice when this process dies.
    global _lock
    _lock = threading.Lock()
    for launcher in _launchers.values():
        launcher.control.close()
        launcher.process.returncode = 0
    _launchers.clear()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _launcher(isolated: bool) -> _Launcher:
    with _lock:
        if isolated not in _launchers:
            _launchers[isolated] = _Launcher(isolated)
        return _launchers[isolated]


def _discard(launcher: _Launcher, isolated: bool) -> None:
    with _lock:
        if _launchers.get(isolated) is launcher:
            del _launchers[isolated]
            launcher.close()


def _attempt(data: bytes, seconds: float, isolated: bool) -> Run | str:
    """Return the run, or why there is none."""
    launcher = _launcher(isolated)
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as stack:
        stack.enter_context(ours)
        mailbox, *written = (stack.enter_context(_file()) for _ in range(4))
        mailbox.write(data)
        with theirs:
            try:
                launcher.submit([*(file.fileno() for file in (mailbox, *written)), theirs.fileno()])
            except OSError as error:
                _discard(launcher, isolated)
                return f"the launcher is gone: {error}"
        ours.settimeout(seconds + _GRACE_SECONDS)
        try:
            if not ours.recv(1):
                raise ConnectionResetError("it closed the connection")
        except TimeoutError:
            _discard(launcher, isolated)
            return "the launcher did not answer"
        except OSError as error:
            if launcher.process.poll() is not None:
                _discard(launcher, isolated)
            return f"the launcher is gone: {error}"
        answer = json.loads(_contents(mailbox))
        if "error" in answer:
            return str(answer["error"])
        out, err, results = map(_contents, written)
    return Run(answer["end"], answer["status"], out, err, list(frames.unpack(results, len(results))))


def _contents(file: io.FileIO) -> bytes:
    file.seek(0)
    return file.readall()


def _file() -> io.FileIO:
    if hasattr(os, "memfd_create"):
        return io.FileIO(os.memfd_create("winnow"), "r+")
    with tempfile.TemporaryFile() as file:
        return io.FileIO(os.dup(file.fileno()), "r+")
