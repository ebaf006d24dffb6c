"""One batch: hand its items out, hold the clock over each, and collect what comes back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.reward.base import Item
from winnow.reward.guard import logger, place
from winnow.reward.pool.blame import Blame
from winnow.reward.pool.comparison import Comparison
from winnow.reward.pool.crew import Crew, News
from winnow.reward.pool.hand import Hand
from winnow.reward.pool.judging import brief
from winnow.reward.pool.launch import LOADING_S, broken
from winnow.reward.pool.protocol import Said
from winnow.reward.pool.schedule import Pace, Queue

# What an answer may take on top of the item, on a machine that is busy.
SLACK_S = 5.0

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
        self._blame = Blame(self._finish)
        # An item that was taken back too late, or the comparison of a pair, may run before the item we wait for.
        self._silence = 2 * timeout + SLACK_S

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
                why = "the process that makes workers was killed"
                self._blame.suspect(hand, latest, "crash", {"detail": why})
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
        alone = self._blame.alone
        for hand in hands:
            if (hand.lent and hand.held) or (alone and not alone.isdisjoint(hand.held.values())):
                continue
            hand.lent = False
            indices = self._queue.take(len(hand.held), workers, self.comparison.least(), alone)
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
            patience = min(patience, self._silence - hand.waited)
            if idle and hand.unbegun():
                patience = min(patience, self._pace.slow)
        return max(patience, 0.0)

    def _hear(self, news: News, crew: Crew) -> None:
        for word in news.words:
            self._listen(news.hand, word, crew)
            if word.kind == "memory":
                # Its last word, if it is honest.
                break
        if news.death:
            self._blame.died(news.hand, news.death)
            self._requeue(news.hand)

    def _listen(self, hand: Hand, word: Said, crew: Crew) -> None:
        content = word.content or {}
        if word.kind == "ready":
            hand.ready = True
        elif word.kind == "broken":
            raise broken(content["message"])
        elif word.kind == "unfit":
            raise errors.RewardError(brief(content["message"]))
        elif word.kind == "compared":
            self.comparison.told()
            if content["message"]:
                logger.warning("%s", brief(content["message"]))
        else:
            answered = self._answer(hand, word, content)
            if word.kind == "memory":
                if not answered:
                    self._blame.ended(hand, "memory", "it ran out of memory")
                self._dismiss(hand, crew)

    def _answer(self, hand: Hand, word: Said, content: Mapping[str, Any]) -> bool:
        index = hand.answered(word.number)
        if index is None:
            # It was taken back too late, and another worker answers for it.
            return False
        self._blame.judged()
        if word.kind == "verdict":
            self.comparison.judged(hand, word.number)
        self._pace.observe(word.seconds)
        self._finish(index, "timeout" if word.seconds > self._timeout else word.kind, content)
        return True

    def _finish(self, index: int, kind: str, content: Mapping[str, Any]) -> None:
        self._open -= 1
        self._receive(index, kind, content)

    def _enforce(self, crew: Crew) -> None:
        for hand in list(crew.hands.values()):
            if self._is_late(hand):
                # What it finished before stands, and it may have gone on while the two words of the clock were read.
                self._hear(News(hand, [] if hand.mute else hand.read()[0]), crew)
                if hand.identity in crew.hands and self._is_late(hand):
                    if not self.comparison.occupies(hand):
                        self._blame.ended(hand, "timeout", "it gave no answer in time")
                    self._dismiss(hand, crew)
            elif not hand.ready and hand.age > LOADING_S:
                self._dismiss(hand, crew)
                self._blame.never_ready(LOADING_S)

    def _is_late(self, hand: Hand) -> bool:
        current = hand.current
        return hand.waited > self._silence or (current is not None and current.seconds > self._timeout)

    def _dismiss(self, hand: Hand, crew: Crew) -> None:
        if hand.identity in crew.hands:
            crew.dismiss(hand)
        self._requeue(hand)

    def _requeue(self, hand: Hand) -> None:
        self._queue.give_back(hand.held.values())
        hand.held.clear()


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
