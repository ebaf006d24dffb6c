"""JSON lines on disk: bounded in size, and cut back to a checkpoint on resume."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np

from winnow.errors import ResumeError
from winnow.train.disk import writing


def encode(record: Mapping[str, Any]) -> bytes:
    """Return one line of JSON; keys that are None or not finite are left out: missing means not measured."""
    kept = {key: value for key, value in record.items() if not _missing(value)}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), default=_plain).encode() + b"\n"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and not math.isfinite(value))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


class Lines:
    """An append-only JSONL file that is rotated at a size and can be cut back to an earlier position.

    ``NAME.jsonl`` is the file being written. When it is full it becomes ``NAME-000001.jsonl`` and so on; of
    those the newest ``files`` are kept.

    A position is ``[part, bytes]``: how many files were closed before, and the length of the open one.
    """

    def __init__(self, path: Path, *, megabytes: float = math.inf, files: int = 8) -> None:
        self._path = path
        self._limit = megabytes * 1e6
        self._files = files
        self._part = max((number for number, _ in self._parts()), default=0)
        self._file: BufferedWriter = path.open("ab")

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append the records, and rotate afterwards when the file is full.

        Raises:
            DiskStop: the disk is full or cannot be written.
        """
        with writing(self._path):
            for record in records:
                self._file.write(encode(record))
            self._file.flush()
            if self._file.tell() >= self._limit:
                self._rotate()

    def position(self) -> list[int]:
        """Put everything written on the disk and return the position after it."""
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        return [self._part, self._file.tell()]

    def cut(self, position: Iterable[int]) -> None:
        """Forget everything written after ``position``.

        When rotation has deleted the file that was open then, the log starts empty.

        Raises:
            ResumeError: the file is shorter than the position says.
        """
        part, size = position
        self._file.close()
        later = [(number, path) for number, path in self._parts() if number > part]
        if later and later[0][0] == part + 1:
            # This closed file is the one that was open at the position.
            os.replace(later.pop(0)[1], self._path)
        elif self._part > part:
            self._path.write_bytes(b"")
            size = 0
        for _, path in later:
            path.unlink()
        self._part = part
        if self._path.stat().st_size < size:
            raise ResumeError(f"{self._path} is shorter than the checkpoint says: it was changed after the run")
        self._file = self._path.open("ab")
        self._file.truncate(size)
        self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Close the file."""
        # `write` flushes; what could not be written then has been reported, and would fail here once more.
        with suppress(OSError):
            self._file.close()

    def _rotate(self) -> None:
        self._file.close()
        self._part += 1
        os.replace(self._path, self._path.with_name(f"{self._path.stem}-{self._part:06d}.jsonl"))
        for number, path in self._parts():
            if number <= self._part - self._files:
                path.unlink()
        self._file = self._path.open("ab")

    def _parts(self) -> list[tuple[int, Path]]:
        found = self._path.parent.glob(f"{self._path.stem}-[0-9]*.jsonl")
        return sorted((int(path.stem.rpartition("-")[2]), path) for path in found)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON object, replacing the file in one go so that a reader never sees half of it.

    Raises:
        DiskStop: the disk is full or cannot be written; the file is as it was.
    """
    partial = path.with_suffix(".partial")
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n"
    with writing(path):
        try:
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, path)
        except OSError:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
