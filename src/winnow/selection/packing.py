"""Dense prompt packing: whole groups into micro-batches of a token budget, looking a few groups ahead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import IntArray


def pack_groups(tokens: Sequence[int] | npt.ArrayLike, budget: int, window: int | None = None) -> list[IntArray]:
    """Put groups into bins of at most ``budget`` tokens, never splitting one (DPPO, arXiv 2603.04135, its packing).

    A bin takes, of the next ``window`` groups that wait, the largest that still fits, then the next largest, and so
    on; then the window moves up over what is left. With a window over all groups this is first-fit decreasing, at most
    11/9 of the best number of bins and 6/9 of a bin more. The source names a window and a token budget; the order
    inside is ours.

    A loop that prunes rows uses it to keep its micro-batches full: hand it the tokens of the rows of each prompt that
    train, and accumulate gradients over the bins of one step. Groups stay whole, so that a bin never needs another
    one's statistics; all bins of a step belong to one update.

    Args:
        tokens: int (P,) tokens of each group, >= 0, in the order in which they wait.
        budget: the most tokens of a bin. A larger group gets a bin of its own.
        window: groups to look at, >= 1; None for all.

    Returns:
        Bins in the order filled, each int64 positions in ascending order; together every position once. Equal sizes
        go in their order.

    Raises:
        ConfigError: if a number is out of range.

    Complexity: O(bins * window log window) time.
    """
    sizes = np.asarray(tokens)
    if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 0)):
        raise ConfigError("pack_groups: tokens must be whole numbers >= 0, one for each group")
    if budget < 1 or (window is not None and window < 1):
        raise ConfigError(f"pack_groups(budget={budget}, window={window}): use whole numbers >= 1")
    waiting = np.arange(len(sizes))
    bins = []
    while len(waiting):
        near = waiting[: window or len(waiting)]
        room = budget
        taken: list[int] = []
        for place in near[np.argsort(-sizes[near].astype(np.int64), kind="stable")].tolist():
            if sizes[place] <= room or (not taken and sizes[place] > budget):
                taken.append(place)
                room -= int(sizes[place])
        chosen = np.sort(np.array(taken, np.int64))
        bins.append(chosen)
        waiting = waiting[~np.isin(waiting, chosen)]
    return bins
