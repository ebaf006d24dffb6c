"""One worker as the parent sees it."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

from winnow.reward.base import Item
from winnow.reward.pool.clock import Clock
from winnow.reward.pool.protocol import Inbox, Said, Work, framed, said

# Small enough not to be mapped and unmapped for every read.
READ = 1 << 16
# A worker that writes faster than we read must not keep us from the others.
READS = 64


class Current(NamedTuple):
    """The item a worker works on.

    Attributes:
        number: its number in that worker.
        seconds: for how long, wall clock.
    """

    number: int
    seconds: float


class Hand:
    """A worker, the connection to it, and the items it holds.

    Args:
        identity: its number within the pool.
        stream: the connection.
        clock: the clock shared with it.
        largest: the longest message to accept from it, in bytes.
        ready: whether it has the reward loaded.
    """

    def __init__(self, identity: int, stream: socket.socket, clock: Clock, largest: int, ready: bool):
        self.identity = identity
        self.stream = stream
        self.clock = clock
        self.ready = ready
        self.held: dict[int, int] = {}
        """Number in this worker -> index in the batch, of every item it has yet to answer."""
        self.lent = False
        """Whether items were taken back that it may not have passed yet."""
        self.mute = False
        """Whether nothing more is to be heard."""
        self.garbled = False
        """Whether what came made no sense."""
        self._inbox = Inbox(largest)
        self._outbox = bytearray()
        self._next = 0
        self._born = self._moved = time.monotonic()
        stream.setblocking(False)

    @property
    def has_to_write(self) -> bool:
        """Whether something waits for room in the connection."""
        return bool(self._outbox)

    @property
    def current(self) -> Current | None:
        """The item it works on; None between items."""
        seconds = self.clock.running()
        return None if seconds is None else Current(self.clock.latest(), seconds)

    @property
    def age(self) -> float:
        """Seconds since it was launched."""
        return time.monotonic() - self._born

    @property
    def given(self) -> int:
        """How many items it has been given in its life."""
        return self._next

    @property
    def waited(self) -> float:
        """For how many seconds it has not answered although it holds items, by our own watch."""
        return time.monotonic() - self._moved if self.held else 0.0

    def answered(self, number: int) -> int | None:
        """Note an answer; returns the index of the item, None if it was taken back or answered before."""
        index = self.held.pop(number, None)
        if index is not None:
            self._moved = time.monotonic()
        return index

    def unbegun(self) -> list[int]:
        """The numbers of the items it holds and has not begun."""
        latest = self.clock.latest()
        return [number for number in self.held if number > latest]

    def give(self, items: Sequence[tuple[int, Item]], columns: Sequence[str], compare: bool) -> range:
        """Send items, as pairs of index and item; returns their numbers and raises what pickling them raises."""
        payload = Work(self._next, [item for _, item in items], columns, compare).encode()
        if not self.held:
            self._moved = time.monotonic()
        # Noted before it is sent: an interrupt in between must not leave an answer that nobody expects.
        numbers = range(self._next, self._next + len(items))
        self.held.update(zip(numbers, (index for index, _ in items), strict=True))
        self._next = numbers.stop
        self.send(payload)
        return numbers

    def take_back(self) -> list[int]:
        """Take the items back that it has not begun; returns their indices."""
        numbers = self.unbegun()
        if numbers:
            self.clock.take_back(numbers[0], self._next)
            self.lent = True
        return [self.held.pop(number) for number in numbers]

    def send(self, payload: bytes) -> None:
        """Send a frame, now or when there is room."""
        self._outbox += framed(payload)
        self.write()

    def write(self) -> None:
        """Write what there is room for."""
        while self._outbox:
            try:
                sent = self.stream.send(self._outbox)
            except BlockingIOError:
                return
            except ConnectionError:
                # It is dying; its death is reported elsewhere.
                self._outbox.clear()
                return
            del self._outbox[:sent]

    def read(self) -> tuple[list[Said], bool]:
        """Read what has arrived; the second value tells whether the connection has ended or makes no sense."""
        words: list[Said] = []
        for _ in range(READS):
            try:
                data = self.stream.recv(READ)
            except BlockingIOError:
                return words, False
            except ConnectionError:
                return words, True
            if not data:
                return words, True
            try:
                for frame in self._inbox.feed(data):
                    words += said(frame, self._next)
            except (ValueError, TypeError):
                self.garbled = True
                return words, True
            if len(data) < READ:
                break
        return words, False
