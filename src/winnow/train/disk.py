"""What to say when a file of the run cannot be written."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.errors import SafetyStop

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOTHING_LEFT = 1 << 20


class DiskStop(SafetyStop):
    """A file of the run could not be written; saving once more would fail in the same way."""


def reason(path: Path, error: OSError) -> str:
    """Return why writing to ``path`` failed: ``disk full`` where it is, else the error.

    Libraries report a full disk in errors of their own, so the free space decides, below 1 MiB; ask before what was
    half written is removed.
    """
    text = error.strerror or str(error)
    full = error.errno in _FULL or os.strerror(errno.ENOSPC) in text or _free(path) < _NOTHING_LEFT
    return f"disk full ({text})" if full else text


def _free(path: Path) -> float:
    existing = next((folder for folder in (path, *path.absolute().parents) if folder.is_dir()), Path())
    try:
        return shutil.disk_usage(existing).free
    except OSError:
        return float("inf")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an `OSError` inside into a `DiskStop` that names ``path`` and, where it is so, the full disk."""
    try:
        yield
    except OSError as error:
        raise DiskStop(
            f"{path} cannot be written: {reason(path, error)}. Free some space, then resume the run"
        ) from error
