"""One run at a time in a run folder."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.errors import ConfigError

if sys.platform != "win32":
    import fcntl

_NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder, which is created where it is missing.

    The lock belongs to the process and ends with it, however it ends, so a killed run can be resumed. Windows
    has no lock. A folder that holds nothing else afterwards is removed again.

    Raises:
        ConfigError: another run holds the folder, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(f"out={folder} cannot be written: {error.strerror}; choose another folder") from error
    try:
        _take(file, folder)
        try:
            yield
        finally:
            # Removed while it is still held: whoever opened it before finds out in `_take`.
            with contextlib.suppress(OSError):
                (folder / _NAME).unlink(missing_ok=True)
                folder.rmdir()
    finally:
        os.close(file)


def _take(file: int, folder: Path) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy(folder) from None
    except OSError:
        return  # a file system without locks
    try:
        same = os.path.samestat(os.fstat(file), os.stat(folder / _NAME))
    except FileNotFoundError:
        same = False
    if not same:
        raise _busy(folder)


def _busy(folder: Path) -> ConfigError:
    return ConfigError(
        f"out={folder} is in use by another run that has not ended: wait for it, or choose another folder"
    )
