"""The run folder: where it is, and what it means to start or to continue in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winnow.errors import ConfigError
from winnow.train.checkpoint import Checkpoints
from winnow.train.config import TrainConfig
from winnow.train.disk import writing
from winnow.train.lock import locked
from winnow.train.logs import Lines, write_json
from winnow.train.sources import write_config

START: Mapping[str, list[int]] = {"metrics": [0, 0], "rollouts": [0, 0]}
"""Positions of the logs before the first line."""


class RunFolder:
    """Files of one run.

    Attributes:
        path: the folder.
        metrics: ``metrics.jsonl``, one line per step, never rotated.
        rollouts: ``rollouts.jsonl``, rotated by size.
        checkpoints: ``checkpoints/``.
    """

    def __init__(self, path: Path, config: TrainConfig) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.metrics = Lines(path / "metrics.jsonl")
        self.rollouts = Lines(path / "rollouts.jsonl", megabytes=config.rollouts_file_mb, files=config.rollouts_files)
        self.checkpoints = Checkpoints(path / "checkpoints", keep=config.keep_checkpoints)

    def begin(self, config: TrainConfig, provenance: Mapping[str, str]) -> None:
        """Record the settings; from now on the run counts as unfinished."""
        path = self.path / "config.toml"
        with writing(path):
            path.write_text(write_config(config, provenance), encoding="utf-8")
            (self.path / "summary.json").unlink(missing_ok=True)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write ``summary.json``, by which others know that the run is finished."""
        write_json(self.path / "summary.json", summary)

    def positions(self) -> dict[str, list[int]]:
        """Return where both logs stand, with everything before on the disk."""
        return {"metrics": self.metrics.position(), "rollouts": self.rollouts.position()}

    def cut(self, positions: Mapping[str, list[int]]) -> None:
        """Cut both logs back to ``positions``, so that lines of steps that are drawn again stand there once."""
        self.metrics.cut(positions["metrics"])
        self.rollouts.cut(positions["rollouts"])

    def close(self) -> None:
        """Close the logs."""
        self.metrics.close()
        self.rollouts.close()


@contextmanager
def new_folder(config: TrainConfig) -> Iterator[Path]:
    """Hold the folder of a new run: ``out``, or the first free name under ``runs/``.

    Raises:
        ConfigError: ``out`` is the current folder, holds a run already, or is in use by one.
    """
    if config.out is not None and Path(config.out) == Path():
        raise ConfigError(f"out={config.out} is the current folder: a run needs a folder of its own, name one")
    path = _free_name(config) if config.out is None else Path(config.out)
    with locked(path):
        lines = path / "metrics.jsonl"
        # A run that failed before its first line left nothing to lose.
        if lines.exists() and lines.stat().st_size:
            raise ConfigError(f"out={path} already holds a run: resume it, or choose another folder")
        yield path


def _free_name(config: TrainConfig) -> Path:
    task = Path(config.task).stem if "." in config.task else config.task.replace(":", "-")
    name = f"{task}-{config.recipe}-seed{config.seed}"
    path = Path("runs") / name
    for number in itertools.count(2):
        try:
            # Making the folder is what takes the name: two runs that start together get two.
            path.mkdir(parents=True)
            break
        except FileExistsError:
            path = Path("runs") / f"{name}-{number}"
        except OSError as error:
            raise ConfigError(f"{path} cannot be made ({error.strerror}): set out to another folder") from error
    return path


@contextmanager
def old_folder(config: TrainConfig) -> Iterator[Path]:
    """Hold the folder of the run to resume.

    Raises:
        ConfigError: ``out`` is not set, holds no run, or is in use by one.
    """
    if config.out is None:
        raise ConfigError("resuming needs out, the folder of the run to continue")
    path = Path(config.out)
    if not (path / "config.toml").exists():
        raise ConfigError(f"out={path} holds no run to resume")
    with locked(path):
        yield path
