"""Ragged groups over flat arrays: which rows belong together, without ever reshaping by a constant n."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# A block of groups small enough to stay in the second-level cache while a rule makes its passes over it.
BLOCK_ELEMENTS = 1 << 16


def as_rewards(rewards: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Return rewards as a one-dimensional float array; None and masked entries become NaN, float32 stays float32.

    Raises:
        ValueError: if the input has another number of dimensions.
    """
    array = np.asarray(rewards.filled(np.nan) if isinstance(rewards, np.ma.MaskedArray) else rewards)
    if array.dtype not in (np.float64, np.float32):
        array = np.asarray(array, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"rewards must have shape (N,), found shape {array.shape}")
    return array


def scorable(rewards: npt.NDArray[np.floating]) -> IntArray | None:
    """Return the positions of finite rewards, or None when all are (the usual case costs one sum)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rewards.sum(dtype=np.float64)):
            return None
    finite = np.flatnonzero(np.isfinite(rewards))
    return None if len(finite) == len(rewards) else finite


def _runs(names: npt.NDArray[np.generic]) -> IntArray:
    """Return where each run of equal neighbours starts."""
    return np.concatenate(([0], np.flatnonzero(names[1:] != names[:-1]) + 1)).astype(np.int64, copy=False)


def rank_within(*keys: npt.ArrayLike) -> IntArray:
    """Return for every row how many rows before it agree with it in all keys.

    Args:
        *keys: arrays (N,) of sortable values.

    Returns:
        int64 (N,): 0 for the first row with its keys, 1 for the second, ...

    Complexity: O(N log N).
    """
    columns = [np.asarray(key) for key in keys]
    order = np.lexsort(columns)
    new = np.ones(len(order), bool)
    if len(order):
        new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - first
    return ranks


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows sorted by group.

    Attributes:
        rows: int64 (N,) row positions, groups in ascending order of label and rows in the order given
            inside each; None stands for 0, 1, ..., N-1 (rows already lie group by group).
        starts: int64 (G,) offset of each group in ``rows``.
        sizes: int64 (G,) members of each group, all positive.
    """

    rows: IntArray | None
    starts: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, labels: npt.ArrayLike | None, size: int, rows: IntArray | None = None) -> Groups:
        """Group ``size`` rows by label.

        Args:
            labels: array (size,) of any integers (or other sortable labels) in any order; None is one group.
            size: number of rows, checked against ``labels``.
            rows: restrict to these positions, taken in this order (it decides who is first inside a group).

        Complexity: O(N) when the labels already lie group by group, else one stable sort.

        Raises:
            ValueError: if labels and rows differ in length.
        """
        if labels is None:
            members = size if rows is None else len(rows)
            starts = np.zeros(min(members, 1), np.int64)
            return cls(rows, starts, np.full(len(starts), members, np.int64))
        names = np.asarray(labels)
        if names.shape != (size,):
            raise ValueError(f"groups must have shape ({size},) like the rewards, found {names.shape}")
        if rows is not None:
            names = names[rows]
        if len(names) == 0:
            return cls(rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
        starts = _runs(names)
        firsts = names[starts]
        if np.any(firsts[1:] <= firsts[:-1]):
            order = np.argsort(names, kind="stable").astype(np.int64, copy=False)
            starts = _runs(names[order])
            rows = order if rows is None else rows[order]
        return cls(rows, starts, np.diff(starts, append=len(names)))

    def gather(self, values: npt.NDArray[np.floating]) -> FloatArray:
        """Return ``values`` of the grouped rows in group order, as float64."""
        return (values if self.rows is None else values[self.rows]).astype(np.float64)

    def scatter(self, grouped: FloatArray, size: int) -> FloatArray:
        """Put per-row results in group order back to their rows; rows in no group get 0."""
        if self.rows is None:
            return grouped
        out = np.zeros(size)
        out[self.rows] = grouped
        return out

    def spread(self, per_group: npt.ArrayLike) -> FloatArray:
        """Repeat one value per group for each of its rows, in group order, as float64."""
        return np.repeat(np.asarray(per_group, np.float64), self.sizes)

    def blocks(self) -> Iterator[tuple[IntArray | slice, int]]:
        """Yield rectangles of equally large groups as (rows, n).

        ``rows`` is an int64 matrix (g, n) of positions, or a slice of g*n consecutive rows. Groups are
        taken by size, so ragged input costs one pass per distinct size, never one per group.
        """
        if len(self.sizes) == 0:
            return
        total = int(self.sizes.sum())
        if self.rows is None and bool((self.sizes == self.sizes[0]).all()):
            n = int(self.sizes[0])
            stride = n * max(1, BLOCK_ELEMENTS // n)
            for begin in range(0, total, stride):
                yield slice(begin, min(begin + stride, total)), n
            return
        by_size = np.argsort(self.sizes, kind="stable")
        sizes, first = np.unique(self.sizes[by_size], return_index=True)
        for n, members in zip(sizes.tolist(), np.split(by_size, first[1:]), strict=True):
            count = max(1, BLOCK_ELEMENTS // n)
            columns = np.arange(n)
            for begin in range(0, len(members), count):
                places = self.starts[members[begin : begin + count], None] + columns
                yield (places if self.rows is None else self.rows[places]), n
