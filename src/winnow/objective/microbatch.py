"""Cut the rows of an optimiser step into micro-batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from winnow.objective.records import Row

PADDED_TOKENS = 8192


def micro_batches(rows: Sequence[Row], most_rows: int | None = None) -> list[list[Row]]:
    """Return the rows in micro-batches, longest first, so that padding is small and memory peaks at once.

    Rows of one prompt stay together, since they share its computation.

    Args:
        rows: of one optimiser step. The gradient does not depend on how they are cut.
        most_rows: rows per micro-batch; None limits rows x longest row to ``PADDED_TOKENS`` tokens.
    """
    longest: dict[tuple[int, ...], int] = {}
    keyed = [(tuple(row.prompt_ids), row) for row in rows]
    for prompt, row in keyed:
        longest[prompt] = max(longest.get(prompt, 0), row.length)
    ordered = sorted(keyed, key=lambda pair: (-longest[pair[0]], pair[0], -pair[1].length))
    batches: list[list[Row]] = []
    width = 0
    for _, row in ordered:
        width = max(width, row.length)
        full = batches and len(batches[-1]) >= (most_rows or max(1, PADDED_TOKENS // width))
        if full or not batches:
            batches.append([])
            width = row.length
        batches[-1].append(row)
    return batches


def advantages_of(rows: Sequence[Row], like_RT: Tensor) -> Tensor:
    """Return advantages (R,), or (R, T) when a row has one per token."""
    if all(np.ndim(row.advantage) == 0 for row in rows):
        return like_RT.new_tensor([row.advantage for row in rows])
    advantages_RT = torch.zeros_like(like_RT, requires_grad=False)
    for index, row in enumerate(rows):
        advantages_RT[index, : len(row.ids)] = torch.as_tensor(row.advantage)
    return advantages_RT
