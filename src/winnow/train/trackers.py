"""Copies of the metrics for TensorBoard, W&B and trackio; the JSONL files on disk never depend on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from winnow.errors import ConfigError, MissingExtra


class Tracker(Protocol):
    """Where a copy of the metrics goes."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Record the numbers of one step."""

    def close(self) -> None:
        """Deliver what is outstanding."""


def open_trackers(names: Sequence[str], folder: Path, config: Mapping[str, Any]) -> list[Tracker]:
    """Open the trackers called ``names`` for the run in ``folder``.

    Raises:
        ConfigError: a name is not known.
        MissingExtra: its package is not installed.
    """
    opened: list[Tracker] = []
    for name in names:
        if name == "tensorboard":
            opened.append(_TensorBoard(folder))
        elif name in ("wandb", "trackio"):
            opened.append(_Hosted(name, folder, config))
        else:
            raise ConfigError(f"trackers: {name!r} is not known (allowed: tensorboard, wandb, trackio)")
    return opened


def _need(module: str, tracker: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"trackers names {tracker!r}, which cannot be imported ({error}): pip install 'winnow-rl[trackers]'"
        ) from error


class _TensorBoard:
    def __init__(self, folder: Path) -> None:
        _need("tensorboard", "tensorboard")
        self._writer = _need("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder / "tensorboard"))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class _Hosted:
    """W&B, and trackio, which has the same three calls."""

    def __init__(self, name: str, folder: Path, config: Mapping[str, Any]) -> None:
        self._module = _need(name, name)
        extra = {"dir": str(folder)} if name == "wandb" else {}
        self._module.init(project="winnow", name=folder.name, config=dict(config), **extra)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._module.log(dict(metrics), step=step)

    def close(self) -> None:
        self._module.finish()
