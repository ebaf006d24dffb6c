"""Which items go to which worker next, and how many at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

# Enough work in hand to hide the way to the parent and back, little enough that nothing waits long behind it.
AHEAD_S = 0.05
MOST = 256
FIRST = 2

# The weight of one item in the running mean of how long an item takes.
WEIGHT = 0.05


class Pace:
    """How long an item takes, as far as is known; kept from batch to batch."""

    def __init__(self) -> None:
        self.seconds: float | None = None

    def observe(self, seconds: float) -> None:
        """Count one judged item."""
        self.seconds = seconds if self.seconds is None else self.seconds + WEIGHT * (seconds - self.seconds)

    @property
    def slow(self) -> float:
        """From how many seconds on an item is slow enough that what waits behind it should move."""
        return max(0.005, 4 * (self.seconds or 0.0))


class Queue:
    """The items of one batch that no worker has.

    A worker is given a fair part of what is left, up to `AHEAD_S` worth of work: many short items travel together,
    and near the end every worker gets few, so that all finish at about the same time.

    Args:
        count: number of items.
        pace: how long items take.
    """

    def __init__(self, count: int, pace: Pace):
        self.waiting = deque(range(count))
        self._pace = pace

    def take(self, held: int, workers: int, least: int = 1, alone: Collection[int] = ()) -> list[int]:
        """Take the next items for one of ``workers`` that still holds ``held``; none while that is enough for it.

        It should hold ``least`` items or more. Those in ``alone`` go to a worker that holds and gets nothing else.
        """
        if self.waiting and self.waiting[0] in alone:
            return [] if held else [self.waiting.popleft()]
        enough = max(least, self._enough(workers))
        if held > enough // 2:
            return []
        taken: list[int] = []
        while self.waiting and len(taken) < enough - held and self.waiting[0] not in alone:
            taken.append(self.waiting.popleft())
        return taken

    def give_back(self, indices: Iterable[int]) -> None:
        """Put items in front again, in their order."""
        self.waiting.extendleft(sorted(indices, reverse=True))

    def _enough(self, workers: int) -> int:
        share = -(-len(self.waiting) // (2 * workers))
        if self._pace.seconds is None:
            return max(1, min(FIRST, share))
        return max(1, min(MOST, share, int(AHEAD_S / max(self._pace.seconds, 1e-6))))
