"""The system calls that Python has no function for, by ctypes; each raises `OSError` and names itself.

Constants are those of mount(2), unshare(2), prctl(2), capabilities(7) and seccomp(2).
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

from winnow.reward.code.inside import syscalls

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 0x1, 0x2, 0x4, 0x8
REMOUNT, BIND, RECURSIVE, PRIVATE = 0x20, 0x1000, 0x4000, 0x40000

_DEATH_SIGNAL, _SECCOMP, _DROP_BOUND, _SECURE_BITS = 1, 22, 24, 28
_SUBREAPER, _NO_NEW_PRIVILEGES, _AMBIENT = 36, 38, 47
# Root is nobody special, no capability is kept over a change of user, none can be raised; all of it locked.
_LOCKED = 0b1110_1111
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CLONE = {"x86_64": 56, "aarch64": 220}

LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True)
# The same library, called without letting go of the interpreter lock.
_held = ctypes.PyDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


# The instructions and the description that points to them.
_filter: tuple[ctypes.Array[ctypes.c_char], _Program] | None = None


def unshare(flags: int, what: str) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _check(_libc.unshare(flags), what)


def fork_into(flags: int) -> int:
    """Fork like `os.fork`, with the child alone in the new namespaces named by ``flags``.

    ``unshare`` before a fork would do the same once only: a process cannot make a second PID namespace for its
    children. The caller must have no other thread.
    """
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(_held.syscall(ctypes.c_long(_CLONE[platform.machine()]), ctypes.c_ulong(flags | 17), 0, 0, 0, 0))
    code = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(code, f"clone into new user, mount and PID namespaces: {os.strerror(code)}")
    return pid


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    data = options.encode() or None
    _check(_libc.mount(_path(source), _path(target), _path(kind), ctypes.c_ulong(flags), data), f"mount {target}")


def detach(target: str) -> None:
    """Take a mount out of the tree; it goes when its last user does."""
    _check(_libc.umount2(_path(target), 2), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make the mount ``new`` the root and put the old root on ``old``."""
    number = ctypes.c_long(_PIVOT_ROOT[platform.machine()])
    _check(_libc.syscall(number, _path(new), _path(old)), "pivot_root")


def die_with_parent() -> None:
    """Ask for SIGKILL when the parent ends. A later change of user or capabilities takes the wish back."""
    _prctl(_DEATH_SIGNAL, 9, what="death signal")


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _prctl(_SUBREAPER, 1, what="subreaper")


def no_new_privileges() -> None:
    """Give up gaining rights by exec, for good."""
    _prctl(_NO_NEW_PRIVILEGES, 1, what="no_new_privs")


def drop_capabilities() -> None:
    """Give up every capability, and every way to get one back."""
    _prctl(_SECURE_BITS, _LOCKED, what="secure bits")
    for capability in range(64):
        if _libc.prctl(_DROP_BOUND, ctypes.c_ulong(capability), 0, 0, 0) != 0:
            break
    _prctl(_AMBIENT, 4, what="ambient capabilities")
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def prepare_filter() -> None:
    """Assemble the filter of `syscalls` once, for every process forked from here."""
    global _filter
    code = syscalls.build_filter(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    _filter = buffer, _Program(len(code) // 8, ctypes.addressof(buffer))


def filter_syscalls() -> None:
    """Install the prepared filter for this process and all it will start."""
    if _filter is None:
        raise OSError("seccomp filter: not prepared")
    _check(_libc.prctl(_SECCOMP, ctypes.c_ulong(2), ctypes.byref(_filter[1]), 0, 0), "seccomp filter")


def _prctl(option: int, value: int, what: str) -> None:
    _check(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)), what)


def _path(path: str | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
