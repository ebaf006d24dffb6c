"""The child's way from the fork to the candidate's first line."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import tempfile
from dataclasses import dataclass
from typing import Any, NoReturn

from winnow.reward.code.inside import files, kernel, lockdown, program, root, users
from winnow.reward.code.inside.limits import Limits

NAMESPACES = kernel.NEW_USER | kernel.NEW_MOUNT | kernel.NEW_PID
READY = b"!"
_LIFE, _READY = lockdown.RESULTS + 1, lockdown.RESULTS + 2
_FAILED = 70


@dataclass(frozen=True)
class Birth:
    """Descriptors the child was born with.

    Attributes:
        mailbox: file the job stands in.
        null: reads nothing and swallows everything.
        out: takes standard output.
        err: takes standard error.
        results: takes messages.
        life: gives a byte when the parent is ready, and ends when the parent does.
        ready: takes `READY` or an error message, and is closed before the candidate's first line, so that no
            candidate can pass for a machine that failed.
    """

    mailbox: int
    null: int
    out: int
    err: int
    results: int
    life: int
    ready: int


def become(birth: Birth, limits: Limits, user: tuple[int, int] | None, work: str) -> NoReturn:
    """Run the program of a job in this process, and end the process.

    The job is read only here: what the parent never held, it cannot hand on to the candidates forked later.

    Args:
        birth: the descriptors.
        limits: what the program may use.
        user: user and group to become in the new namespaces; None without isolation.
        work: folder to run in without isolation.
    """
    code = _FAILED
    ready = birth.ready
    try:
        job = json.loads(files.job_of(birth.mailbox))
        streams = [birth.null] * 3 if job["stdin"] is None else [_file_of(job["stdin"]), birth.out, birth.err]
        lockdown.wire([*streams, birth.results, birth.life, birth.ready])
        ready = _READY
        _lock(limits, user, work)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(ready, f"{error}".encode())
        os._exit(_FAILED)
    try:
        code = _run(job, limits)
    finally:
        os._exit(code)


def _lock(limits: Limits, user: tuple[int, int] | None, work: str) -> None:
    if not os.read(_LIFE, 1):
        os._exit(_FAILED)
    os.setsid()
    if user is not None:
        users.become(*user)
        root.mount_work(limits.disk_mb)
    else:
        os.chdir(work)
    lockdown.lock(limits, isolated=user is not None)
    # The wish to die with the parent was made just now; the parent may have died before.
    if select.select([_LIFE], [], [], 0)[0]:
        os._exit(_FAILED)
    gc.enable()
    os.write(_READY, READY)
    os.close(_LIFE)
    os.close(_READY)


def _run(job: dict[str, Any], limits: Limits) -> int:
    if job["stdin"] is None:
        return program.run_function(job["program"], job["function"], job["inputs"], limits.output)
    return program.run_script(job["program"], limits.output)


def _file_of(text: str) -> int:
    """A file with the text, at its start, which its reader cannot change."""
    data = text.encode("utf-8", "surrogatepass")
    if not kernel.LINUX:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            return os.dup(file.fileno())
    descriptor = os.memfd_create("stdin", os.MFD_ALLOW_SEALING)
    files.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor
