"""Which item answers for the end of a worker?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from winnow import errors
from winnow.reward.pool.hand import Hand

# An item is tried again if its worker ended right after it, or with the nursery: it may be innocent.
STRIKES = 2
# Deaths in a row without a verdict in between and without an item to blame.
FRUITLESS = 3

Finish = Callable[[int, str, Mapping[str, Any]], None]
"""Takes the index of an item, what happened to it, and the content; see `winnow.reward.pool.shift.Receive`."""


class Blame:
    """Counts against items what happened to their workers, so that no batch goes on for ever.

    The clock of a worker names the item. Code that the worker runs may have written nonsense there, and an honest
    worker may be at an item that was taken back; then each item that it holds is tried again alone. So whatever ends a
    worker parts items for good, costs one of them one of its `STRIKES` lives, or counts as one of `FRUITLESS` deaths.

    Args:
        finish: called for an item that is done with.
    """

    def __init__(self, finish: Finish):
        self._finish = finish
        self.alone: set[int] = set()
        """The indices of items that must not share a worker, so that it is known which one ends it."""
        self._strikes: dict[int, int] = {}
        self._fruitless = 0

    def judged(self) -> None:
        """Note that a worker answered for an item."""
        self._fruitless = 0

    def ended(self, hand: Hand, kind: str, why: str) -> None:
        """Find the item for which a worker has to be killed; ``kind`` is what that does to the item.

        Raises:
            RewardError: if workers had to be killed again and again with no item in hand.
        """
        latest = hand.clock.latest()
        if latest in hand.held:
            self._finish(hand.held.pop(latest), kind, {})
        elif hand.held:
            self._doubt(hand, kind, {})
        else:
            self._count_fruitless(why)

    def died(self, hand: Hand, why: str) -> None:
        """Find the item on which a worker died, if any.

        Raises:
            RewardError: if workers die again and again before they begin an item.
        """
        if hand.given and not hand.held:
            return
        latest = hand.clock.latest()
        if not hand.held or (latest == -1 and not hand.garbled):
            self._count_fruitless(why)
            return
        if latest not in hand.held:
            self._doubt(hand, "crash", {"detail": why})
        elif hand.current is not None:
            self._finish(hand.held.pop(latest), "crash", {"detail": why})
        else:
            self.suspect(hand, latest, "crash", {"detail": f"{why}, right after this item"})

    def suspect(self, hand: Hand, number: int, kind: str, content: Mapping[str, Any]) -> None:
        """Give an item a strike; the last one ends it."""
        index = hand.held[number]
        self._strikes[index] = self._strikes.get(index, 0) + 1
        if self._strikes[index] >= STRIKES:
            self._finish(hand.held.pop(number), kind, content)

    def _doubt(self, hand: Hand, kind: str, content: Mapping[str, Any]) -> None:
        if len(hand.held) > 1:
            # Verdicts may have been on their way, so not even the first one is the likeliest.
            self.alone.update(hand.held.values())
        else:
            self.suspect(hand, next(iter(hand.held)), kind, content)

    def _count_fruitless(self, why: str) -> None:
        self._fruitless += 1
        if self._fruitless >= FRUITLESS:
            raise errors.RewardError(
                f"workers cannot judge: {self._fruitless} of them ended in a row without a verdict, the last one "
                f'because {why}. Try the reward outside of a pool, give workers more memory_mb, or choose start="spawn"'
            )

    def never_ready(self, seconds: float) -> None:
        """Note that a worker did not get to its first item in time; raises what `died` raises."""
        self._count_fruitless(f"loading the reward took more than {seconds:g} s")
