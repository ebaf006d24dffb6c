"""Who a candidate is: a user without name or rights, in a user namespace that knows no other."""

from __future__ import annotations

import contextlib
import os

from winnow.reward.code.inside import kernel

NOBODY = 65534


def choose() -> tuple[int, int]:
    """Return the user and group for candidates.

    Under user 0 it is nobody, where the host can map it: user 0 is exempt from the limit on processes.
    Everyone else can only map itself.
    """
    if os.geteuid() == 0 and _known("uid_map") and _known("gid_map"):
        return NOBODY, NOBODY
    return os.geteuid(), os.getegid()


def write_maps(proc: int, process: str, user: int, group: int) -> None:
    """Give a new user namespace one user and one group, the same inside as outside.

    Args:
        proc: descriptor of a ``/proc`` that shows the caller.
        process: a process in the namespace, as named there.
        user: the user.
        group: the group.

    Raises:
        OSError: naming the file that could not be written.
    """
    _write(proc, process, f"{user} {user} 1", f"{group} {group} 1")


def _write(proc: int, process: str, users: str, groups: str) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", users), ("gid_map", groups)):
        try:
            _put(proc, process, name, text)
        except OSError as error:
            raise OSError(error.errno, f"user namespace, {name}: {error.strerror}") from error


def _put(proc: int, process: str, name: str, text: str) -> None:
    descriptor = os.open(f"{process}/{name}", os.O_WRONLY, dir_fd=proc)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def offer_to_oom_killer(proc: int, process: str) -> None:
    """Make a process and its children the first to go when the machine runs out of memory."""
    with contextlib.suppress(OSError):
        _put(proc, process, "oom_score_adj", "1000")


def unshare_with_nobody(proc: int, flags: int, what: str) -> None:
    """Move this process into new namespaces, a user namespace among them, that know it and, if possible, nobody.

    Only a process that stays outside, with the rights of user 0 there, may map a user other than itself: a
    child does it.

    Raises:
        OSError: naming what was refused.
    """
    own, process = (os.geteuid(), os.getegid()), str(os.getpid())
    wait, go = os.pipe()
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            os.close(go)
            if own[0] == 0 and os.read(wait, 1):
                _write(proc, process, *(f"{identity} {identity} 1\n{NOBODY} {NOBODY} 1" for identity in own))
                code = 0
        finally:
            os._exit(code)
    os.close(wait)
    try:
        kernel.unshare(kernel.NEW_USER | flags, f"user, {what}")
        with contextlib.suppress(BrokenPipeError):
            os.write(go, b"!")
    finally:
        os.close(go)
        status = os.waitpid(helper, 0)[1]
    if status:
        write_maps(proc, "self", *own)


def become(user: int, group: int) -> None:
    """Switch to a user and group of the own namespace."""
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def _known(name: str) -> bool:
    with open(f"/proc/self/{name}") as source:
        ranges = [list(map(int, line.split())) for line in source]
    return any(first <= NOBODY < first + length for first, _, length in ranges)
