"""Is a pair of items judged as its members are? Asked once, of one worker."""

from __future__ import annotations

from collections.abc import Mapping

from winnow.reward.pool.hand import Hand

PAIR = 2


class Comparison:
    """The parent's side of the question; `winnow.reward.pool.worker` has the other.

    A worker answers for the first `PAIR` items it can judge out of the ones it got together with the question.

    Args:
        wanted: whether to ask at all.
    """

    def __init__(self, wanted: bool):
        self._wanted = wanted
        self._hand: Hand | None = None
        self._numbers = range(0)
        self._judged = 0
        self._told = False

    @property
    def asked(self) -> bool:
        """Whether a worker has come to the question; then there is no need to ask again, whatever it said."""
        return self._judged >= PAIR

    def least(self) -> int:
        """How many items the next worker must get, so that it can be asked."""
        return PAIR if self._wanted else 1

    def wants(self, count: int) -> bool:
        """Tell whether to put the question to a worker that gets ``count`` items."""
        return self._wanted and count >= PAIR

    def ask(self, hand: Hand, numbers: range) -> None:
        """Note that it was put to a worker, with the items of these numbers."""
        self._wanted = False
        self._hand = hand
        self._numbers = numbers

    def judged(self, hand: Hand, number: int) -> None:
        """Note that a worker has judged an item; it counts the same ones and compares as soon as there are enough."""
        self._judged += hand is self._hand and number in self._numbers

    def told(self) -> None:
        """Note the answer."""
        self._told = True

    def occupies(self, hand: Hand) -> bool:
        """Whether a worker is at the question and not at an item."""
        return self.asked and not self._told and self._hand is hand

    def is_open(self, hands: Mapping[int, Hand]) -> bool:
        """Whether an answer is on its way, from a worker that still lives."""
        return self.asked and not self._told and self._hand is not None and self._hand.identity in hands
