"""A worker process: takes items from the parent, judges one after the other, sends the verdicts back."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence

from winnow import errors
from winnow.reward.base import ChecksColumns, Item, Reward
from winnow.reward.pool import limits
from winnow.reward.pool.clock import Clock
from winnow.reward.pool.comparison import PAIR
from winnow.reward.pool.judging import Judge, verdict_of
from winnow.reward.pool.protocol import Said, Setup, Work, framed, read_frame
from winnow.rollout import Verdict

# Verdicts wait this long for company at most: less than any item that is worth a worker, more than a message costs.
FLUSH_S = 0.01
FLUSH_BYTES = 1 << 17


class Worker:
    """The loop of one worker.

    Args:
        stream: the connection to the parent.
        clock: the shared clock.
        reward: the reward, loaded.
        setup: the settings of the pool.
    """

    def __init__(self, stream: socket.socket, clock: Clock, reward: Reward, setup: Setup):
        self._stream = stream
        self._clock = clock
        self._reward = reward
        self._judge = Judge(reward, setup.max_output)
        self._memory_mb = setup.memory_mb
        self._process = os.getpid()
        self._columns: Sequence[str] = ()
        self._pending: list[bytes] = []
        self._size = 0
        self._flushed = 0.0

    def run(self) -> None:
        """Judge until the parent closes the connection."""
        _silence()
        limits.no_core_dump()
        limits.bound_memory(self._memory_mb)
        self._say(Said("ready"))
        self._flush()
        while (frame := read_frame(self._stream)) is not None:
            self._do(frame)
            self._flush()

    def _do(self, frame: bytes) -> None:
        try:
            work = Work.decode(frame)
        except Exception as error:
            message = (
                f"items cannot be read in a worker process ({error!r}); keep plain values in the columns of the data"
            )
            self._say(Said("unfit", content={"message": message}))
            return
        self._learn(work.columns)
        judged: list[tuple[Item, Verdict]] = []
        for number, item in enumerate(work.items, work.first):
            if self._clock.skips(number):
                continue
            verdict = self._score(number, item)
            if work.compare and verdict is not None and len(judged) < PAIR:
                judged.append((item, verdict))
                if len(judged) == PAIR:
                    self._compare(number, judged)

    def _learn(self, columns: Sequence[str]) -> None:
        if columns != self._columns and isinstance(self._reward, ChecksColumns):
            # The parent asked the same question first and tells the user.
            self._reward.check_columns(columns, has_answers=True)
        self._columns = columns

    def _score(self, number: int, item: Item) -> Verdict | None:
        begun = self._clock.begin(number)
        try:
            kind, content = self._judge.judge(item)
        finally:
            self._stay_alone()
        self._clock.end()
        self._say(Said(kind, number, (time.monotonic_ns() - begun) / 1e9, content))
        if kind == "memory":
            # What else the reward holds on to would count against the next item.
            self._flush()
            os._exit(0)
        if time.monotonic() - self._flushed > FLUSH_S or self._size > FLUSH_BYTES:
            self._flush()
        return verdict_of(content) if kind == "verdict" else None

    def _compare(self, number: int, pair: list[tuple[Item, Verdict]]) -> None:
        # The verdicts stand, whatever becomes of this.
        self._flush()
        self._clock.begin(number)
        message = ""
        try:
            message = self._judge.compare(pair)
        except errors.WinnowError as error:
            self._say(Said("unfit", content={"message": str(error)}))
        except Exception:
            # The pair was judged alone without trouble; this is a question about the contract, and it stays open.
            message = ""
        finally:
            self._stay_alone()
        self._clock.end()
        self._say(Said("compared", content={"message": message}))
        self._flush()

    def _stay_alone(self) -> None:
        # A reward that forks may return in the child as well; only the worker itself may go on.
        if os.getpid() != self._process:
            os._exit(0)

    def _say(self, word: Said) -> None:
        data = word.encode()
        self._pending.append(data)
        self._size += len(data)

    def _flush(self) -> None:
        if self._pending:
            self._stream.sendall(framed(b"[" + b",".join(self._pending) + b"]"))
            self._pending.clear()
            self._size = 0
        self._flushed = time.monotonic()


def serve(stream: socket.socket, clock: Clock) -> None:
    """Be a worker in a fresh process: the set-up comes over the connection."""
    frame = read_frame(stream)
    if frame is None:
        return
    setup: Setup = pickle.loads(frame)
    try:
        reward = load(setup.reward)
    except BaseException as error:
        content = {"message": failure(error)}
        stream.sendall(framed(b"[" + Said("broken", content=content).encode() + b"]"))
        return
    Worker(stream, clock, reward, setup).run()


def load(payload: bytes) -> Reward:
    """Unpickle a reward, importing what it needs, and let it warm up if it can."""
    reward: Reward = pickle.loads(payload)
    warm_up = getattr(reward, "warm_up", None)
    if warm_up is not None:
        warm_up()
    return reward


def failure(error: BaseException) -> str:
    """Tell why a reward could not be loaded: our own errors say it, others need their traceback."""
    if isinstance(error, errors.WinnowError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()


def main(stream: int, clock: int) -> None:
    """Entry point of a fresh worker that a nursery started, with the descriptors it got."""
    if hasattr(os, "setsid"):
        os.setsid()
    limits.die_with_parent()
    limits.adopt_orphans()
    serve(socket.socket(fileno=stream), Clock.join(clock))


def main_without_nursery(clock: str) -> None:
    """Entry point of a fresh worker that the parent itself started; ends when standard input does."""
    if sys.platform == "win32":
        size = int.from_bytes(sys.stdin.buffer.read(4), "little")
        stream = socket.fromshare(sys.stdin.buffer.read(size))
        shared = Clock.join(clock)
    else:
        descriptor, _, file = clock.partition(",")
        stream, shared = socket.socket(fileno=int(descriptor)), Clock.join(int(file))
        os.setsid()
    threading.Thread(target=_follow_parent, args=(os.dup(0),), daemon=True).start()
    serve(stream, shared)


def _follow_parent(source: int) -> None:
    while os.read(source, 1):
        pass
    os._exit(1)


def _silence() -> None:
    # What a reward prints has no bound, and the terminal belongs to the user.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
