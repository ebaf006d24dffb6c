"""The run folder: where it is, and what it means to start or to continue in it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winnow.errors import ConfigError
from winnow.train.checkpoint import Checkpoints
from winnow.train.config import TrainConfig
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
        (self.path / "config.toml").write_text(write_config(config, provenance), encoding="utf-8")
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


def new_folder(config: TrainConfig) -> Path:
    """Return the folder of a new run: ``out``, or the first free name under ``runs/``.

    Raises:
        ConfigError: ``out`` holds a run already.
    """
    if config.out is not None:
        path = Path(config.out)
        if (path / "metrics.jsonl").exists():
            raise ConfigError(f"out={path} already holds a run: resume it, or choose another folder")
        return path
    task = Path(config.task).stem if "." in config.task else config.task.replace(":", "-")
    name = f"{task}-{config.recipe}-seed{config.seed}"
    candidates = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (Path("runs") / name for name in candidates) if not path.exists())


def old_folder(config: TrainConfig) -> Path:
    """Return the folder of the run to resume.

    Raises:
        ConfigError: ``out`` is not set, or holds no run.
    """
    if config.out is None:
        raise ConfigError("resuming needs out, the folder of the run to continue")
    path = Path(config.out)
    if not (path / "config.toml").exists():
        raise ConfigError(f"out={path} holds no run to resume")
    return path
