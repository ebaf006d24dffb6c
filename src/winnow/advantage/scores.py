"""Column ``scores`` as rules read it: a judgement per rollout, NaN where there is none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray, as_rewards


def as_scores(scores: npt.ArrayLike, rewards: npt.ArrayLike, rule: str) -> FloatArray:
    """Return scores (N,) as float64.

    Args:
        scores: (N,); NaN, None and infinities are rollouts without a judgement.
        rewards: (N,); where they are not finite, a score is not missed.
        rule: its name, for the message.

    Raises:
        ConfigError: if no rollout with a reward has a score: then nothing judges steps, and the rule would do nothing
            without a word.
    """
    values, scorable = as_rewards(scores).astype(np.float64), np.isfinite(as_rewards(rewards))
    if scorable.any() and not np.isfinite(values[scorable]).any():
        raise ConfigError(
            f"{rule} needs scores, and none of the {np.count_nonzero(scorable)} rollouts has one: tell them, or let "
            "the reward return a component 'score' (winnow train)"
        )
    return values
