"""One batch: hand its items out, hold the clock over each, and collect what comes back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.reward.base import Item
from winnow.reward.guard import logger, place
from winnow.reward.pool.comparison import Comparison
from winnow.reward.pool.crew import Crew, News
from winnow.reward.pool.hand import Hand
from winnow.reward.pool.launch import LOADING_S, broken
from winnow.reward.pool.protocol import Said
from winnow.reward.pool.schedule import Pace, Queue

# An item is tried again if its worker ended right after it, or with the nursery: it may be innocent.
STRIKES = 2
# Deaths in a row without a verdict in between and without an item to blame.
FRUITLESS = 3

Receive = Callable[[int, str, Mapping[str, Any]], None]
"""Takes the index of an item, what happened (the kind of a `Said`, or ``timeout`` or ``crash``), and the content."""


class Shift:
    """The scoring of one batch.

    Every item is at any time in exactly one place: in the queue, with one worker, or judged.

    Args:
        items: the batch.
        columns: every column of the data.
        timeout: the most seconds an item may run.
        pace: how long items take.
        receive: called once per item; what it raises ends the batch.
        compare: whether a worker shall check that a pair is judged as its members are.
    """

    def __init__(
        self,
        items: Sequence[Item],
        columns: Sequence[str],
        timeout: float,
        pace: Pace,
        receive: Receive,
        compare: bool = False,
    ):
        self._items = items
        self._columns = columns
        self._timeout = timeout
        self._pace = pace
        self._receive = receive
        self.comparison = Comparison(compare)
        self._queue = Queue(len(items), pace)
        self._open = len(items)
        self._strikes: dict[int, int] = {}
        self._fruitless = 0

    def run(self, crew: Crew) -> None:
        """Score what is left of the batch.

        Raises:
            RewardError: if the reward cannot be loaded, a column cannot be sent, or workers die without a verdict.
            Lost: if the process that makes workers is gone; after `recover`, another crew can go on.
        """
        for hand in list(crew.hands.values()):
            if hand.held:
                # A batch before this one was interrupted, and then its clean-up was too.
                crew.dismiss(hand)
        while self._open or self.comparison.is_open(crew.hands):
            crew.staff(self._open)
            hands = [hand for hand in crew.hands.values() if hand.ready and not hand.mute]
            self._spread(hands)
            self._hand_out(hands, crew.size)
            for news in crew.listen(self._patience(crew.hands.values())):
                self._hear(news, crew)
            self._enforce(crew)

    def recover(self, crew: Crew) -> None:
        """Take back what the workers of a lost crew had."""
        for hand in crew.hands.values():
            latest = hand.clock.latest()
            if latest in hand.held:
                self._suspect(hand, latest, "the process that makes workers was killed")
            self._requeue(hand)

    def _spread(self, hands: Sequence[Hand]) -> None:
        """Where a worker has nothing to do, take back what waits behind slow items of others."""
        if self._queue.waiting or all(hand.held for hand in hands):
            return
        for hand in hands:
            current = hand.current
            if current is not None and current.seconds > self._pace.slow:
                self._queue.give_back(hand.take_back())

    def _hand_out(self, hands: Sequence[Hand], workers: int) -> None:
        for hand in hands:
            if hand.lent and hand.held:
                continue
            hand.lent = False
            indices = self._queue.take(len(hand.held), workers, self.comparison.least())
            if indices:
                self._give(hand, indices)

    def _give(self, hand: Hand, indices: Sequence[int]) -> None:
        try:
            compare = self.comparison.wants(len(indices))
            numbers = hand.give([(i, self._items[i]) for i in indices], self._columns, compare)
        except Exception as error:
            raise _unsendable([self._items[i] for i in indices], error) from None
        if compare:
            self.comparison.ask(hand, numbers)

    def _patience(self, hands: Iterable[Hand]) -> float:
        """For how many seconds nothing can happen that the workers do not tell."""
        idle = any(hand.ready and not hand.held for hand in hands)
        patience = LOADING_S
        for hand in hands:
            current = hand.current
            patience = min(patience, self._timeout - (current.seconds if current else 0.0))
            if idle and hand.unbegun():
                patience = min(patience, self._pace.slow)
        return max(patience, 0.0)

    def _hear(self, news: News, crew: Crew) -> None:
        for word in news.words:
            self._listen(news.hand, word, crew)
        if news.death:
            self._take_from(news.hand, news.death)

    def _listen(self, hand: Hand, word: Said, crew: Crew) -> None:
        content = word.content or {}
        if word.kind == "ready":
            hand.ready = True
        elif word.kind == "broken":
            raise broken(content["message"])
        elif word.kind == "unfit":
            raise errors.RewardError(content["message"])
        elif word.kind == "compared":
            self.comparison.told()
            if content["message"]:
                logger.warning("%s", content["message"])
        else:
            self._answer(hand, word, content)
        if word.kind == "memory":
            self._dismiss(hand, crew)

    def _answer(self, hand: Hand, word: Said, content: Mapping[str, Any]) -> None:
        index = hand.held.pop(word.number, None)
        if index is None:
            # It was taken back too late, and another worker answers for it.
            return
        self._fruitless = 0
        if word.kind == "verdict":
            self.comparison.judged(hand, word.number)
        if word.kind == "skipped":
            self._queue.give_back([index])
            return
        self._pace.observe(word.seconds)
        self._finish(index, "timeout" if word.seconds > self._timeout else word.kind, content)

    def _finish(self, index: int, kind: str, content: Mapping[str, Any]) -> None:
        self._open -= 1
        self._receive(index, kind, content)

    def _enforce(self, crew: Crew) -> None:
        for hand in list(crew.hands.values()):
            if self._is_late(hand):
                # What it finished before stands, and it may have gone on while the two words of the clock were read.
                self._hear(News(hand, [] if hand.mute else hand.read()[0]), crew)
                if self._is_late(hand):
                    index = hand.held.pop(hand.clock.latest(), None)
                    self._dismiss(hand, crew)
                    if index is not None:
                        self._finish(index, "timeout", {})
            elif not hand.ready and hand.age > LOADING_S:
                self._dismiss(hand, crew)
                self._count_fruitless(f"loading the reward took more than {LOADING_S:g} s")

    def _is_late(self, hand: Hand) -> bool:
        current = hand.current
        return current is not None and current.seconds > self._timeout

    def _dismiss(self, hand: Hand, crew: Crew) -> None:
        if hand.identity in crew.hands:
            crew.dismiss(hand)
            self._requeue(hand)

    def _take_from(self, hand: Hand, why: str) -> None:
        """Find out which item a worker died on, if any, and queue the others again."""
        latest = hand.clock.latest()
        if hand.ready and not hand.held:
            return
        if hand.garbled and latest not in hand.held:
            # What writes nonsense into the connection may have written into the clock as well.
            latest = next(iter(hand.held), latest)
        if latest not in hand.held:
            self._count_fruitless(why)
        elif hand.current is not None:
            self._finish(hand.held.pop(latest), "crash", {"detail": why})
        else:
            self._suspect(hand, latest, f"{why}, right after this item")
        self._requeue(hand)

    def _suspect(self, hand: Hand, number: int, why: str) -> None:
        index = hand.held[number]
        self._strikes[index] = self._strikes.get(index, 0) + 1
        if self._strikes[index] >= STRIKES:
            self._finish(hand.held.pop(number), "crash", {"detail": why})

    def _requeue(self, hand: Hand) -> None:
        self._queue.give_back(hand.held.values())
        hand.held.clear()

    def _count_fruitless(self, why: str) -> None:
        self._fruitless += 1
        if self._fruitless >= FRUITLESS:
            raise errors.RewardError(
                f"workers cannot judge: {self._fruitless} of them ended in a row without a verdict, the last one "
                f'because {why}. Try the reward outside of a pool, give workers more memory_mb, or choose start="spawn"'
            )


def _unsendable(items: Sequence[Item], error: Exception) -> errors.RewardError:
    for item in items:
        for name, value in item.prompt.fields.items():
            try:
                pickle.dumps(value)
            except Exception as problem:
                return errors.RewardError(
                    f"{place(item)}: column {name!r} holds a {type(value).__name__} that cannot be sent to a worker "
                    f"({problem}); keep plain values in the columns a reward reads"
                )
    return errors.RewardError(f"items cannot be sent to a worker: {error}")
