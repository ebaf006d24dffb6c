"""Exactly m rows of every prompt, for hosts that cut their batch into groups of one size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.batch import TrainBatch
from winnow.errors import ConfigError
from winnow.groups import IntArray


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A batch in which every prompt has m rows.

    Attributes:
        rows: int64 (P, m) positions of rollouts in the order told, ascending within a prompt.
        trains: bool (P,) whether the rows are those the recipe kept. Where they are not, the host needs the rows to
            keep its shape and must learn nothing from them: give them all one reward, or mask them.
    """

    rows: IntArray
    trains: npt.NDArray[np.bool_]


def rectangle(batch: TrainBatch, owners: npt.ArrayLike, m: int) -> Rectangle:
    """Return m rows of every prompt: those the recipe kept, where it kept exactly m (ours).

    A host that reshapes rewards by a constant group size computes the advantages itself, so a group is either the one
    the recipe chose or it must not train: topping a short group up with rows the recipe left out would move its
    baseline. A prompt with fewer than m kept rows (unscorable rollouts, a gate) therefore sits the step out, and its
    first m rollouts hold the place. The host's own rule takes the place of the recipe's ``advantage``, ``weight`` and
    ``stats``.

    Args:
        batch: what `Step.finish` returned.
        owners: int (N,) prompt of every rollout, in the order told.
        m: the host's group size.

    Raises:
        ConfigError: if a prompt was given fewer than m rollouts, or the recipe keeps more than m of one.

    Complexity: O(N log N).
    """
    told = np.asarray(owners, np.int64)
    size = len(batch.counts)
    if told.ndim != 1 or not np.array_equal(np.bincount(told, minlength=size), batch.counts):
        raise ConfigError(
            f"owners has {told.size} entries that do not fit the batch: give the prompt of each of its "
            f"{int(batch.counts.sum())} rollouts, in the order told"
        )
    short = int(batch.counts.min())
    if short < m:
        raise ConfigError(
            f"prompt {int(batch.counts.argmin())} got {short} rollouts, the host trains on {m} of every prompt: let "
            f"the smallest group have at least {m} (Vigor's `initial`, Uniform's `n`; no recipe with spare prompts), "
            "or lower the host's group size"
        )
    kept = np.bincount(batch.prompts, minlength=size)
    if kept.max(initial=0) > m:
        raise ConfigError(
            f"the recipe keeps {int(kept.max())} rollouts of prompt {int(kept.argmax())}, the host trains on {m}: "
            f"select with m={m}, or use a host that takes groups of different sizes"
        )
    trains = kept == m
    chosen = np.zeros(len(told), bool)
    chosen[batch.rows] = trains[batch.prompts]
    # A stable sort puts chosen rows before the others of their prompt, so the first m are right in either case.
    order = np.lexsort((np.arange(len(told)), ~chosen, told))
    starts = np.cumsum(batch.counts) - batch.counts
    rows = np.sort(order[starts[:, None] + np.arange(m)], axis=1)
    return Rectangle(rows.astype(np.int64), trains)
