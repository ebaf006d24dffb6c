"""The workers of a pool: launched, listened to, replaced."""

from __future__ import annotations

import selectors
import signal
from dataclasses import dataclass, field

from winnow.reward.pool import launch
from winnow.reward.pool.hand import Hand
from winnow.reward.pool.protocol import NEVER_STARTED, Said, Setup

# Where nothing wakes us up when a worker dies.
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class News:
    """What one worker said since the last time, and whether it has died.

    Attributes:
        hand: the worker.
        words: what it said, in order.
        death: how it ended, in words; empty while it lives.
    """

    hand: Hand
    words: list[Said] = field(default_factory=list)
    death: str = ""


class Crew:
    """The worker processes, and where they come from.

    Args:
        setup: what workers need.
        size: the most workers at a time.

    Raises:
        RewardError: if the reward cannot be loaded.
    """

    def __init__(self, setup: Setup, size: int):
        self.setup = setup
        self.size = size
        self.hands: dict[int, Hand] = {}
        self._launcher = launch.launcher(setup)
        self._selector = selectors.DefaultSelector()
        self._control = getattr(self._launcher, "control", None)
        if self._control is not None:
            self._selector.register(self._control, selectors.EVENT_READ)
        self._count = 0
        # One frame holds what is flushed at once and, at worst, one verdict with a few texts of the greatest length,
        # each character of which takes twelve bytes.
        self._largest = (1 << 20) + 256 * setup.max_output

    def staff(self, wanted: int) -> None:
        """Launch workers until there are ``wanted``, `size` at most."""
        while len(self.hands) < min(wanted, self.size):
            self._count += 1
            stream, clock = self._launcher.launch(self._count)
            hand = Hand(self._count, stream, clock, self._largest, ready=not self._launcher.loads)
            self.hands[self._count] = hand
            self._selector.register(stream, selectors.EVENT_READ, hand)
            if self._launcher.loads:
                hand.send(self.setup.encode())

    def listen(self, seconds: float) -> list[News]:
        """Wait until something happens, ``seconds`` at most, and tell what.

        Raises:
            Lost: if the process that makes workers is gone.
        """
        for hand in self.hands.values():
            if not hand.mute:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if hand.has_to_write else 0)
                self._selector.modify(hand.stream, events, hand)
        if self._control is None:
            seconds = min(seconds, POLL_S)
        ready = [(key.data, events) for key, events in self._selector.select(seconds)]
        news = [self._attend(hand, events) for hand, events in ready if hand is not None]
        if self._control is None or len(news) < len(ready):
            deaths = [death for death in self._launcher.deaths() if death[0] in self.hands]
            news += [self._bury(*death) for death in deaths]
        return news

    def _attend(self, hand: Hand, events: int) -> News:
        if events & selectors.EVENT_WRITE:
            hand.write()
        words, ended = hand.read() if events & selectors.EVENT_READ else ([], False)
        if ended:
            # Its death follows, if need be from our hand; until then there is nothing to hear.
            self._mute(hand)
            self._launcher.kill(hand.identity)
        return News(hand, words)

    def _bury(self, identity: int, status: int) -> News:
        hand = self.hands[identity]
        words = [] if hand.mute else hand.read()[0]
        self._forget(hand)
        return News(hand, words, _ending(status))

    def _mute(self, hand: Hand) -> None:
        hand.mute = True
        self._selector.unregister(hand.stream)

    def _forget(self, hand: Hand) -> None:
        if not hand.mute:
            self._mute(hand)
        del self.hands[hand.identity]
        hand.stream.close()

    def dismiss(self, hand: Hand) -> None:
        """Kill a worker and forget it."""
        self._launcher.kill(hand.identity)
        self._forget(hand)

    def close(self) -> None:
        """End every process."""
        for hand in list(self.hands.values()):
            self._forget(hand)
        self._selector.close()
        self._launcher.close()


def _ending(status: int) -> str:
    if status == NEVER_STARTED:
        return "the system refused to start the worker process"
    if status >= 0:
        return f"the worker process exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"the worker process was ended by {name}"
