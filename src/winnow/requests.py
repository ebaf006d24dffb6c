"""What a step asks for, and what is granted but not asked for yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from winnow.allocation.base import Grant
from winnow.groups import IntArray


class Requests(Sequence[tuple[int, int]]):
    """What to draw: pairs ``(prompt index, count)``, in the order in which to start them.

    Attributes:
        prompts: int64 (k,) prompt indices.
        counts: int64 (k,) rollouts of each, all positive.
    """

    def __init__(self, prompts: IntArray, counts: IntArray) -> None:
        self.prompts = prompts
        self.counts = counts

    @property
    def total(self) -> int:
        """Rollouts asked for."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        """Return the number of pairs; 0 means: tell results first, or the step is done."""
        return len(self.prompts)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Requests: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | Requests:
        """Return one pair, or a slice."""
        if isinstance(index, slice):
            return Requests(self.prompts[index], self.counts[index])
        return int(self.prompts[index]), int(self.counts[index])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Go through the pairs."""
        return zip(self.prompts.tolist(), self.counts.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence of pairs."""
        return isinstance(other, Sequence) and list(self) == [tuple(pair) for pair in other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the pairs."""
        return repr(list(self))


class Pending:
    """A grant that is handed out piece by piece."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        self._ends = np.cumsum(grant.counts)
        self._given = 0

    def __bool__(self) -> bool:
        return len(self._ends) > 0 and self._given < int(self._ends[-1])

    def take(self, room: int) -> Grant:
        """Return the next ``room`` rollouts, or all that are left."""
        begin, end = self._given, min(self._given + room, int(self._ends[-1]))
        first = int(np.searchsorted(self._ends, begin, side="right"))
        last = int(np.searchsorted(self._ends, end, side="left"))
        counts = self._grant.counts[first : last + 1].copy()
        counts[-1] -= int(self._ends[last]) - end
        counts[0] -= begin - (int(self._ends[first]) - int(self._grant.counts[first]))
        self._given = end
        return Grant(self._grant.prompts[first : last + 1], counts)
