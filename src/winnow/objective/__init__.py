"""What rollouts are trained to do: the clipped policy loss, log-probabilities, the optimiser step.

``Objective`` and ``Totals`` need no torch; everything else is imported when it is asked for. The loss itself is
``winnow.objective.policy_loss.policy_loss``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from winnow.errors import MissingExtra
from winnow.objective.config import Objective, Totals

if TYPE_CHECKING:
    from winnow.objective.learner import Learner
    from winnow.objective.logprobs import completion_logprobs
    from winnow.objective.records import Outlier, Row, UpdateStats

_LAZY = {
    "Learner": "learner",
    "Outlier": "records",
    "Row": "records",
    "UpdateStats": "records",
    "completion_logprobs": "logprobs",
}

__all__ = [
    "Learner",
    "Objective",
    "Outlier",
    "Row",
    "Totals",
    "UpdateStats",
    "completion_logprobs",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"winnow.objective.{_LAZY[name]}")
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("winnow"):
            raise
        raise MissingExtra(
            f"training needs {error.name}, which is not installed: pip install 'winnow-rl[train]'"
        ) from error
    return getattr(module, name)
