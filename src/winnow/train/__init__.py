"""Training: settings, the loop, evaluation, logs, checkpoints.

``TrainConfig`` and ``load_config`` need no torch; ``Trainer`` is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from winnow.errors import MissingExtra
from winnow.train.config import TrainConfig
from winnow.train.sources import load_config, write_config

if TYPE_CHECKING:
    from winnow.train.evaluate import Evaluation, evaluate, pass_at_k
    from winnow.train.trainer import Trainer

__all__ = [
    "Evaluation",
    "TrainConfig",
    "Trainer",
    "evaluate",
    "load_config",
    "pass_at_k",
    "write_config",
]

_LAZY = {"Trainer": "trainer", "Evaluation": "evaluate", "evaluate": "evaluate", "pass_at_k": "evaluate"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"winnow.train.{_LAZY[name]}")
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("winnow"):
            raise
        raise MissingExtra(
            f"training needs {error.name}, which is not installed: pip install 'winnow-rl[train]'"
        ) from error
    return getattr(module, name)
