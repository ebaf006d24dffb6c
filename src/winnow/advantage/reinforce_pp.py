"""REINFORCE++: rewards whitened over the whole batch instead of the group."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from winnow.advantage.base import Centred, register
from winnow.errors import unknown
from winnow.groups import FloatArray, as_rewards


@register
def reinforce_pp(
    rewards: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    baseline: bool = True,
    lengths: npt.ArrayLike | None = None,
    statistics: Literal["rollout", "token"] = "rollout",
    ddof: int = 0,
) -> FloatArray:
    """Return ``(d - mean of d) / std of d`` over the batch (REINFORCE++, arXiv 2501.03262).

    Args:
        rewards: (N,) floats; NaN, None and infinities are left out of every statistic and get 0.
        groups: (N,) integer labels; used by ``baseline`` alone.
        baseline: d is the reward minus the mean of its group, else the reward itself.
        lengths: int (N,) tokens of each rollout, needed by ``statistics="token"``.
        statistics: count every rollout once, or every token once (OpenRLHF, verl): then long rollouts dominate,
            and with a baseline a group without signal gets an advantage that is not 0.
        ddof: 1 for the unbiased variance (verl), 0 for the biased one (OpenRLHF).

    Returns:
        float64 (N,); zeros when the batch does not vary.

    Raises:
        ConfigError: if ``statistics`` is unknown.
        ValueError: if shapes differ, or lengths are missing.

    Complexity: that of `winnow.advantage.centred`.
    """
    values = as_rewards(rewards).astype(np.float64)
    counts = np.isfinite(values).astype(np.float64)
    if statistics == "token":
        tokens = np.asarray(np.nan if lengths is None else lengths, np.float64)
        if tokens.shape != values.shape:
            raise ValueError(f"statistics='token' needs lengths of shape {values.shape}, found {tokens.shape}")
        counts *= tokens
    elif statistics != "rollout":
        raise unknown("statistics", statistics, ("rollout", "token"))
    if baseline:
        centred = Centred.of(values, groups)
        score = centred.rows(centred.deviation)
    else:
        score = np.where(counts > 0, values, 0.0)
    total = counts.sum()
    if total <= ddof:
        return np.zeros(len(values))
    # Distances to group means have mean 0; what a sum of them leaves over would reach groups that have no signal.
    mean = 0.0 if baseline and statistics == "rollout" else counts @ score / total
    deviation = score - mean
    inside = counts > 0
    unit = np.abs(deviation[inside]).max(initial=0.0) or 1.0
    deviation = deviation / unit  # squares of very small or large distances leave the range of floats
    variance = counts @ deviation**2 / (total - ddof)
    varied = bool(inside.any()) and score[inside].max() > score[inside].min()
    return np.where(inside, deviation / np.sqrt(variance), 0.0) if varied else np.zeros(len(values))
