"""Rows that fill verl's last mini-batch, spread over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size


def spread(rows: int, padding: int) -> list[int]:
    """Return an order of ``rows`` real places followed by ``padding`` others that deals the others out evenly.

    Any run of places of the result holds its share of padding, give or take one.
    """
    total = rows + padding
    taken = np.arange(padding) * total // max(1, padding) + total // (2 * max(1, padding))
    order = np.empty(total, np.int64)
    padded = np.zeros(total, bool)
    padded[taken] = True
    order[padded] = np.arange(rows, total)
    order[~padded] = np.arange(rows)
    return order.tolist()


def pad(batch: Any, mini_batch: int, stop_id: int) -> Any:
    """Fill a batch to whole mini-batches, each with about as many real rows as the others.

    verl does the filling itself, behind the last row: 129 rows in mini-batches of 128 would be one update on 128 rows
    and one on a single row, at the same step size. A recipe decides how many rows train, so here that is no rare case.
    verl's own filling then finds nothing to do, and its balancing over GPUs keeps the order within each of them.

    Args:
        batch: `KVBatchMeta` of the rows that train.
        mini_batch: rows of one optimiser step over all GPUs.
        stop_id: the token of a padding row.
    """
    rows = len(batch)
    if rows <= mini_batch or rows % mini_batch == 0:
        return batch
    batch = upsample_batch_to_divisible_size(batch, mini_batch, stop_id)
    batch.reorder(spread(rows, len(batch) - rows))
    return batch
