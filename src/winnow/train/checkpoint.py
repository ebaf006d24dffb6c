"""Checkpoints: written beside, put on the disk, then renamed, so that a folder with the final name is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from winnow.errors import ResumeError
from winnow.train.disk import DiskStop, reason

_PREFIX = "step-"
_STATE = "state.json"


class Checkpoints:
    """The folder ``checkpoints/`` of a run.

    Args:
        folder: created when the first checkpoint is saved.
        keep: how many of the newest are kept.
    """

    def __init__(self, folder: Path, *, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def all(self) -> list[Path]:
        """Return the whole checkpoints, oldest first. Half-written ones have another name and never appear."""
        return [path for path in self._numbered() if (path / _STATE).is_file()]

    def latest(self) -> Path | None:
        """Return the newest whole checkpoint."""
        found = self.all()
        return found[-1] if found else None

    def newest(self) -> Path | None:
        """Return the checkpoint to resume from.

        Raises:
            ResumeError: the newest one has lost its ``state.json``.
        """
        found = self._numbered()
        if found and not (found[-1] / _STATE).is_file():
            raise self.damaged(found[-1], ResumeError(f"{found[-1] / _STATE} is missing"))
        return found[-1] if found else None

    def damaged(self, checkpoint: Path, error: ResumeError) -> ResumeError:
        """Return ``error`` with what can be done about a checkpoint that cannot be used."""
        before = [path for path in self.all() if _number(path) < _number(checkpoint)]
        if not before:
            return ResumeError(f"{error}. No earlier checkpoint exists: start a new run with another out")
        return ResumeError(
            f"{error}. The whole checkpoint before it is {before[-1]}: move {checkpoint} away and resume again to "
            "continue from there"
        )

    def _numbered(self) -> list[Path]:
        found = [path for path in self._folder.glob(f"{_PREFIX}*") if _number(path) >= 0]
        return sorted(found, key=_number)

    def save(self, step: int, write: Callable[[Path], None], state: Mapping[str, Any]) -> Path:
        """Save one checkpoint.

        Args:
            step: number of steps done.
            write: puts weights, optimiser and generators into the folder it is given.
            state: everything else: JSON values and numpy arrays, nested in mappings and lists.

        Returns:
            The folder ``step-000123``.

        Raises:
            DiskStop: the disk is full or cannot be written; earlier checkpoints are untouched.
        """
        final = self._folder / f"{_PREFIX}{step:06d}"
        partial = self._folder / f".partial-{step:06d}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
            partial.mkdir()
            write(partial)
            (partial / _STATE).write_text(json.dumps(state, default=_pack), encoding="utf-8")
            _sync(partial)
            if final.exists():
                os.replace(final, self._folder / f".partial-{step:06d}-before")
            os.replace(partial, final)
            _sync_folder(self._folder)
        except OSError as error:
            why = reason(self._folder, error)
            shutil.rmtree(partial, ignore_errors=True)
            kept = self.latest()
            raise DiskStop(
                f"cannot save a checkpoint in {self._folder}: {why}. "
                + (f"The last good one is {kept}. " if kept else "No earlier one exists. ")
                + "Free some space, then resume the run; keep_checkpoints and checkpoint_every set how much is kept"
            ) from error
        self._sweep()
        for old in self.all()[: -self._keep]:
            shutil.rmtree(old)
        return final

    def _sweep(self) -> None:
        for path in self._folder.glob(".partial-*"):
            shutil.rmtree(path)


def _number(path: Path) -> int:
    digits = path.name.removeprefix(_PREFIX)
    return int(digits) if digits.isdecimal() else -1


def read_state(checkpoint: Path, keys: Collection[str] = ()) -> dict[str, Any]:
    """Return the ``state`` a checkpoint was saved with.

    Args:
        checkpoint: its folder.
        keys: what the state has to hold at least.

    Raises:
        ResumeError: the file is not readable, or does not hold one JSON object with ``keys``.
    """
    try:
        loaded = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"), object_hook=_unpack)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ResumeError(f"{checkpoint / _STATE} cannot be read: {error}") from None
    if not isinstance(loaded, dict):
        raise ResumeError(f"{checkpoint / _STATE} is damaged: it holds {type(loaded).__name__}, not an object")
    if missing := sorted(set(keys) - loaded.keys()):
        raise ResumeError(f"{checkpoint / _STATE} is damaged: it lacks {', '.join(missing)}")
    return loaded


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"__array__": value.tolist(), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be kept in a checkpoint's {_STATE}")


def _unpack(value: dict[str, Any]) -> Any:
    if "__array__" in value:
        return np.array(value["__array__"], dtype=value["dtype"]).reshape(value["shape"])
    return value


def _sync(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        else:
            _sync_folder(path)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
