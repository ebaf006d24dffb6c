"""What the processes of a pool say to each other, and in which form.

Parent to worker: frames of pickled `Work` (and one `Setup` at the start). Worker to parent: frames of JSON, so
that the parent never unpickles what a process that ran foreign code sends, and never believes its lengths.
Parent and nursery: one `Setup`, then messages of a fixed size.
"""

from __future__ import annotations

import json
import pickle
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.reward.base import Item
from winnow.reward.pool.checking import records
from winnow.rollout import Prompt

LENGTH = struct.Struct("<I")

MESSAGE = struct.Struct("<cqi")
"""Kind, worker, status: ``L`` launch (with the worker's files), ``K`` kill, ``D`` died."""

NEVER_STARTED = 256
"""Status of a worker that the system refused to start: no exit code is that large."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a fresh process needs to judge items.

    Attributes:
        parent: process id of the parent.
        folder: the current folder for every process.
        reward: the reward, pickled.
        start: ``fork``, ``spawn`` or ``auto``.
        memory_mb: what an item may allocate beyond the loaded reward.
        max_output: the longest reason, and the longest JSON of the parts, in characters.
    """

    parent: int
    folder: str
    reward: bytes
    start: str
    memory_mb: int
    max_output: int

    def encode(self) -> bytes:
        """Pickle it."""
        return pickle.dumps(self)


@dataclass(frozen=True, slots=True)
class Work:
    """Items for one worker.

    Attributes:
        first: number of the first item; the numbers of one worker only ever grow.
        items: the items.
        columns: the columns of the whole data, of which an item may have a part.
        compare: whether to compare the first pair of these items that can be judged with its members.
    """

    first: int
    items: Sequence[Item]
    columns: Sequence[str]
    compare: bool = False

    def encode(self) -> bytes:
        """Pickle it, each prompt once; raises whatever pickling a column raises."""
        prompts = {id(item.prompt): item.prompt for item in self.items}
        place = {key: index for index, key in enumerate(prompts)}
        rows = [(p.id, p.content, p.answer, dict(p.fields)) for p in prompts.values()]
        texts = [(place[id(item.prompt)], item.completion, item.rollout) for item in self.items]
        return pickle.dumps((self.first, rows, texts, tuple(self.columns), self.compare), protocol=5)

    @staticmethod
    def decode(data: bytes) -> Work:
        """Unpickle it; raises whatever unpickling a column raises."""
        first, rows, texts, columns, compare = pickle.loads(data)
        prompts = [Prompt(*row) for row in rows]
        items = [Item(prompts[index], completion, rollout) for index, completion, rollout in texts]
        return Work(first, items, columns, compare)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing a worker says.

    Attributes:
        kind: ``ready``; ``broken`` (the reward cannot be loaded); ``unfit`` (it breaks its contract on a pair of
            items, or items cannot be read); ``compared`` (what there is to say about a pair); or, about an item,
            ``verdict``, ``memory``, ``output limit``, ``raised`` (an error of
            winnow's) or ``failed`` (any other exception).
        number: the item's number in this worker.
        seconds: how long the item took, wall clock.
        content: what the kind needs.
    """

    kind: str
    number: int = -1
    seconds: float = 0.0
    content: Mapping[str, Any] | None = None

    def encode(self) -> bytes:
        """Write it as JSON."""
        return json.dumps((self.kind, self.number, self.seconds, self.content), separators=(",", ":")).encode()


def said(payload: bytes, given: int = 0) -> list[Said]:
    """Read a frame of a worker that was given so many items; `ValueError` or `TypeError` if it makes no sense."""
    words = [Said(*record) for record in records(payload)]
    for word in words:
        if word.number >= given:
            raise ValueError(f"a word about item {word.number}, of {given} that were given")
    return words


def framed(payload: bytes) -> bytes:
    """Put the length in front."""
    return LENGTH.pack(len(payload)) + payload


def read_frame(stream: socket.socket) -> bytes | None:
    """Wait for a whole frame; None at the end of the stream."""
    head = _read(stream, LENGTH.size)
    return None if head is None else _read(stream, LENGTH.unpack(head)[0])


def _read(stream: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = stream.recv(min(size - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)


class Inbox:
    """Puts frames together from whatever arrives.

    Args:
        largest: the longest frame to believe in.
    """

    def __init__(self, largest: int):
        self.largest = largest
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the frames that ``data`` completes; `ValueError` for one that is too long."""
        self._data += data
        while len(self._data) >= LENGTH.size:
            [size] = LENGTH.unpack_from(self._data)
            if size > self.largest:
                raise ValueError(f"a frame of {size} bytes, more than {self.largest}")
            if len(self._data) < LENGTH.size + size:
                return
            yield bytes(self._data[LENGTH.size : LENGTH.size + size])
            del self._data[: LENGTH.size + size]
