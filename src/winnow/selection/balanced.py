"""Reinforce-Ada's choice: half right, half wrong, first come first kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from winnow.columns import needs
from winnow.groups import as_rewards, rank_within, scorable
from winnow.observed import SUCCESS
from winnow.selection.base import Selection, check_m, register


@register
@needs("outcomes")
def balanced(
    rewards: npt.ArrayLike,
    m: int | float,
    groups: npt.ArrayLike | None = None,
    *,
    seed: int | np.random.Generator | None = None,
    outcomes: npt.ArrayLike | None = None,
) -> Selection:
    """Keep the first ``min(m // 2, #right)`` right rows of every group, wrong ones for the rest of m (2510.04996).

    Where one side is short, the other fills up, so a group keeps ``min(m, size)`` rows; for odd m the wrong side has
    one more. The paper has a split of its own for prompts that never had a success (its variant *pos*); they have no
    right rows, so this rule gives the same.

    Args:
        rewards: (N,) floats; NaN, None and infinities are never kept.
        m: rows to keep per group, a number or a fraction of the scorable rows, see `winnow.selection.max_variance`.
        groups: (N,) integer labels in any order, None for one group.
        seed: None keeps the first rows in the order given, a seed shuffles them first.
        outcomes: (N,) verdicts, right above 0.5 (`winnow.observed.SUCCESS`); None takes the rewards.

    Returns:
        `Selection` with sorted rows and weights of 1.

    Known bias: the share of right rows that train is not the share that was drawn; pair it with ``stats="full"``.

    Raises:
        ConfigError: if m is not a positive int or a fraction in (0, 1].
        ValueError: if shapes differ.

    Complexity: O(N log N).
    """
    values, m = as_rewards(rewards), check_m(m)
    right = (values if outcomes is None else as_rewards(outcomes)) > SUCCESS
    labels = np.zeros(len(values), np.int64) if groups is None else np.asarray(groups)
    if not len(values) == len(right) == len(labels):
        raise ValueError(f"{len(values)} rewards, {len(right)} outcomes and {len(labels)} groups: all must be equal")
    finite = scorable(values)
    rows = np.arange(len(values)) if finite is None else finite
    if seed is not None:
        rows = np.random.default_rng(seed).permutation(rows)
    right = right[rows]
    _, group = np.unique(labels[rows], return_inverse=True)
    size = np.bincount(group)
    n_right = np.bincount(group, weights=right).astype(np.int64)
    keep = np.minimum(m, size) if isinstance(m, int) else np.maximum(1, np.floor(m * size + 1e-9).astype(np.int64))
    keep_wrong = np.minimum(keep - np.minimum(keep // 2, n_right), size - n_right)
    quota = np.where(right, (keep - keep_wrong)[group], keep_wrong[group])
    chosen = np.sort(rows[rank_within(group, right) < quota])
    return Selection(chosen, np.ones(len(chosen)))
