"""Tasks from data files and folders of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winnow.task.options import FileOptions
from winnow.task.record import Task
from winnow.task.survey import survey


def load(path: Path | str, seed: int = 0, options: Mapping[str, Any] | None = None) -> Task:
    """Load a task from a data file or folder; every row is checked before anything is trained.

    Args:
        path: the file or folder.
        seed: not used: which rows are held out depends on the rows alone.
        options: see `winnow.task.options.FileOptions`.

    Raises:
        ConfigError: for a bad option or reward.
        DataError: if the file or rows in it cannot be used, with file and line.
        MissingExtra: if the format or the reward needs a package that is not installed.
    """
    return survey(Path(path), FileOptions.of(options or {})).task()
