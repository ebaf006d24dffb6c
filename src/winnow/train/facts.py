"""What the embedded trainer can tell recipes about rollouts beyond reward and length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from winnow.columns import COLUMNS
from winnow.features import hashed
from winnow.reward.answers import normal_form
from winnow.rollout import Rollout

SCORE = "score"
"""Component of the reward that stands for the judgement of a rollout's steps."""


def facts(names: Iterable[str], rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Return the columns of rollouts that a recipe needs, see `winnow.columns`.

    ``embeddings`` are hashed trigrams of the text; ``scores`` are the component ``score`` of the reward, NaN where it
    has none; ``entropy`` is the mean negative log-probability of the sampled ids.

    Complexity: O(characters + ids) for the columns asked for.
    """
    return {name: _MAKERS[name](rollouts) for name in names}


def _entropy(rollouts: Sequence[Rollout]) -> Any:
    return np.array([-float(np.mean(r.logprobs)) if len(r.logprobs) else 0.0 for r in rollouts])


def _scores(rollouts: Sequence[Rollout]) -> Any:
    parts = [rollout.verdict.parts.get(SCORE) if rollout.verdict else None for rollout in rollouts]
    return np.array([np.nan if part is None else part for part in parts], np.float64)


_MAKERS: dict[str, Callable[[Sequence[Rollout]], Any]] = {
    "answers": lambda rollouts: [normal_form(rollout.text) for rollout in rollouts],
    "scores": _scores,
    "embeddings": lambda rollouts: hashed([rollout.text for rollout in rollouts]),
    "entropy": _entropy,
    "truncated": lambda rollouts: np.array([rollout.finish == "length" for rollout in rollouts], np.float64),
}
assert _MAKERS.keys() == COLUMNS.keys()
