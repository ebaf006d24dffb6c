"""RAFT and Reinforce-Rej: raw rewards, from positives alone or from groups with signal alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import Advantage, register, signal
from winnow.columns import own_signal
from winnow.groups import FloatArray, as_rewards


@register
@own_signal
def raft(rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> FloatArray:
    """Return ``max(r, 0)``: learn from what is right and from nothing else (RAFT, arXiv 2504.11343).

    No group and no baseline: an all-right group trains, and a step that is all wrong trains nothing.

    Args:
        rewards: (N,) floats; NaN, None and infinities get 0.
        groups: ignored.

    Returns:
        float64 (N,).

    Complexity: O(N).
    """
    values = as_rewards(rewards).astype(np.float64)
    return np.where(np.isfinite(values), np.maximum(values, 0.0), 0.0)


@register
def reinforce_rej(rewards: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> FloatArray:
    """Return r where the group's rewards differ, else 0 (Reinforce-Rej, arXiv 2504.11343).

    No baseline: with rewards of 0 and 1 the right rollouts of mixed groups train, with -1 and 1 all of them.

    Args:
        rewards: (N,) floats; NaN, None and infinities are left out of every comparison and get 0.
        groups: (N,) integer labels in any order, None for one group.

    Returns:
        float64 (N,). A group of one scorable rollout gets 0, here as everywhere (the authors' code keeps its reward).

    Complexity: that of `signal`.
    """
    values = as_rewards(rewards).astype(np.float64)
    return np.where(signal(values, groups), values, 0.0)


declare(
    "raft",
    About(
        paper="RAFT, arXiv 2504.11343; with this objective's ratio and clip it is RAFT++ (without the KL loss)",
        idea="train on right rollouts alone, each with its reward",
        saves="updates: wrong rollouts need none",
        costs="entropy falls fast; solved prompts keep training",
        bias="none for the pass rate, but no baseline: high variance",
    ),
    lambda: {"advantage": Advantage("raft")},
)
declare(
    "reinforce-rej",
    About(
        paper="Reinforce-Rej, arXiv 2504.11343 (without the KL loss)",
        idea="raw rewards, in groups that are neither all right nor all wrong",
        saves="updates on groups without signal",
        costs="no baseline: high variance",
        bias="prompts count by their chance of a mixed group",
    ),
    lambda: {"advantage": Advantage("reinforce_rej")},
)
