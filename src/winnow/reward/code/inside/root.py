"""A private root directory: the interpreter, its standard library and the C libraries it loads, read-only.

The rest of the host's files is not there to be found: no home, no ``/etc``, no ``/proc``, no ``/sys``, and of
the devices only ``/dev/null``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from winnow.reward.code.inside import kernel

WORK = "/tmp"
"""The one place a candidate can write to."""

# With these loaded, every library a module of the standard library links against is mapped.
_LINKED = ("zlib", "_bz2", "_lzma", "_ctypes", "_decimal", "_hashlib", "_ssl", "_sqlite3", "pyexpat", "_uuid")
_LOADERS = (
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
)
_ALIASES = ("/lib", "/lib64", "/lib32", "/usr/lib64")
_HIDDEN = ("site-packages", "dist-packages")


def enter() -> None:
    """Swap the root directory of this mount namespace for a private one.

    The calling process must be alone in a new mount namespace and hold CAP_SYS_ADMIN over it.

    Raises:
        OSError: naming the step the kernel refused.
    """
    libraries = sorted(_libraries())
    # Any directory serves as mount point; our own is there for certain, and what it held is loaded.
    place = os.path.dirname(os.path.abspath(__file__))
    kernel.mount(None, "/", None, kernel.PRIVATE | kernel.RECURSIVE)
    kernel.mount("none", place, "tmpfs", kernel.NO_SUID | kernel.NO_DEVICES, "size=1m,mode=755")
    for alias in _ALIASES:
        if os.path.islink(alias):
            os.makedirs(place + os.path.dirname(alias), exist_ok=True)
            os.makedirs(place + os.path.realpath(alias), exist_ok=True)
            # Relative, since an absolute link would lead out of the new root while it is being filled.
            os.symlink(os.path.relpath(os.path.realpath(alias), os.path.dirname(alias)), place + alias)
    for source in _stdlib():
        _bind(source, place)
        for hidden in _HIDDEN:
            if os.path.isdir(f"{place}{source}/{hidden}"):
                kernel.mount("none", f"{place}{source}/{hidden}", "tmpfs", kernel.READ_ONLY, "size=0")
    for source in [*libraries, *filter(os.path.exists, _LOADERS), os.path.realpath(sys.executable), "/dev/null"]:
        _bind(source, place)
    os.makedirs(place + WORK, exist_ok=True)
    kernel.mount(None, place, None, kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | kernel.NO_SUID)
    os.chdir(place)
    kernel.pivot_root(".", ".")
    kernel.detach(".")
    os.chdir("/")


def mount_work(megabytes: int) -> None:
    """Put an empty file system of a fixed size on `WORK`, and go there."""
    flags = kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_EXEC
    kernel.mount("none", WORK, "tmpfs", flags, f"size={megabytes}m,nr_inodes=1024,mode=700")
    os.chdir(WORK)


def _stdlib() -> list[str]:
    found: list[str] = []
    for path in sorted({os.path.realpath(path) for path in sys.path if path and os.path.exists(path)}, key=len):
        if not any(path.startswith(f"{outer}/") for outer in found):
            found.append(path)
    return found


def _libraries() -> set[str]:
    """The shared libraries of a child that has imported everything, outside the standard library's folder."""
    end, start = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for name in _LINKED:
                try:
                    __import__(name)
                except ImportError:
                    continue
            with open("/proc/self/maps") as maps, open(start, "w") as out:
                out.write("\n".join(sorted({line[line.index("/") :].rstrip() for line in maps if ".so" in line})))
            code = 0
        finally:
            os._exit(code)
    os.close(start)
    with open(end) as source:
        mapped = source.read().splitlines()
    os.waitpid(pid, 0)
    inside = tuple(f"{folder}/" for folder in _stdlib())
    return {name for path in mapped if not path.startswith(inside) for name in _names(path)}


def _names(path: str) -> Iterator[str]:
    # The loader looks for the soname, which is a link beside the file.
    yield path
    folder = os.path.dirname(path)
    stem = os.path.basename(path).partition(".so")[0]
    for name in os.listdir(folder):
        if name.startswith(f"{stem}.so") and os.path.realpath(f"{folder}/{name}") == path:
            yield f"{folder}/{name}"


def _bind(source: str, place: str) -> None:
    target = place + source
    if os.path.exists(target):
        return
    if os.path.isdir(source):
        os.makedirs(target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    kernel.mount(source, target, None, kernel.BIND)
    # A mount from outside keeps its restrictions; asking for less is refused.
    kept = _mount_flags(os.statvfs(source).f_flag)
    flags = kernel.READ_ONLY | kernel.NO_SUID
    # A device file on a mount without devices would be no device.
    if source != "/dev/null":
        flags |= kernel.NO_DEVICES
    kernel.mount(None, target, None, kernel.REMOUNT | kernel.BIND | flags | kept)


def _mount_flags(flags: int) -> int:
    pairs: Iterable[tuple[int, int]] = ((2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21))
    return sum(mount for stat, mount in pairs if flags & stat)
