"""`Pool`: score in worker processes that can be killed."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from winnow import errors
from winnow.reward.base import ChecksColumns, ChecksGolds, Counts, Item, Reward
from winnow.reward.guard import Policy, logger
from winnow.reward.pool import settings
from winnow.reward.pool.holder import Holder
from winnow.reward.pool.launch import Lost
from winnow.reward.pool.ledger import Ledger
from winnow.reward.pool.protocol import Setup
from winnow.reward.pool.schedule import Pace
from winnow.reward.pool.sending import as_reward, is_reward, packed
from winnow.reward.pool.shift import Shift
from winnow.rollout import Verdict

# How often the process that makes workers may be lost in one batch.
LOSSES = 3


class Pool:
    """A reward that scores in worker processes and cannot hang.

    Every item has a wall-clock bound that starts in the worker when it begins the item, so waiting in line costs
    nothing. A worker that exceeds it is killed with everything it started, and replaced; so is one that exits or
    crashes. What a reward starts lives as long as its worker at most. The verdicts are those of the wrapped reward and
    come in the order of the items, from whichever thread, event loop or daemonic process this is called; how a
    wrapped `Function` treats exceptions holds over all workers.

    A killed item's reason starts with ``timeout``, ``memory``, ``crash`` or ``output limit``; ``on_timeout`` says what
    it is worth. Except for timeouts, such items count towards ``max_error_rate``: a reward that crashes everywhere is a
    bug, one that is slow somewhere is not.

    Each item is scored alone, also by a function of a whole batch. Two items of the first batch are scored together
    as well: an error that shows only then is raised, and another score is logged. An item may be scored twice
    if its worker ended soon afterwards. What workers print is dropped. They run in the folder and with the environment
    of this process, but single-threaded where the environment does not say otherwise (``OMP_NUM_THREADS``), and with
    PYTHONHASHSEED 0, so that sets have the same order in all of them. A method ``warm_up`` of the reward is called when
    it has been loaded: what it imports does not count towards any item.

    A lambda, a function inside another one, or one of the main program or a notebook cannot be built in another
    process: it is scored in this one, without any of the bounds, and a warning says so once.

    Processes start with the first batch or on entering ``with``, and end with `close`, with the pool, or with this
    process, however that ends; scoring after `close` starts new ones. A pool may be used by several threads, one batch
    at a time, and can be pickled (the copy has workers of its own), but not be used in a fork of its process.

    Args:
        function: a reward, the specification of one (``math``, ``file.py:function``, ...), or a function.
        workers: number of worker processes.
        timeout: the most seconds for one item.
        on_timeout: ``unscorable``, ``zero`` or ``raise``, for killed items; None takes the attribute ``on_timeout`` of
            the reward, or ``unscorable``.
        memory_mb: the most MiB that an item may map beyond the loaded reward; not enforced on macOS and Windows.
        max_output: the longest reason, in characters (longer ones are cut), and the longest JSON text of the parts.
        start: ``fork`` (from a fresh single-threaded interpreter, never from this process; a new worker costs
            milliseconds), ``spawn`` (each worker a fresh interpreter, which loads the reward again), or ``auto``: fork
            on Linux, unless loading the reward starts threads or a GPU context, else spawn.
        max_error_rate: the highest share of failing items; for exceptions, a reward (not a function or specification)
            brings its own limit.

    Raises:
        ConfigError: for a setting out of range, or a function that cannot be loaded.
    """

    def __init__(
        self,
        function: Reward | str | Callable[..., Any],
        workers: int = 2,
        timeout: float = 5.0,
        *,
        on_timeout: Policy | None = None,
        memory_mb: int = 2048,
        max_output: int = 65536,
        start: settings.Start = "auto",
        max_error_rate: float = 0.5,
    ):
        settings.check(timeout, max_error_rate, workers=workers, memory_mb=memory_mb, max_output=max_output)
        bounds: dict[str, Any] = {"memory_mb": memory_mb, "max_output": max_output, "max_error_rate": max_error_rate}
        self._again = functools.partial(Pool, function, workers, timeout, on_timeout=on_timeout, start=start, **bounds)
        self.reward = as_reward(function, max_error_rate)
        self.workers = workers
        self.timeout = timeout
        self.on_timeout: Policy = on_timeout or getattr(self.reward, "on_timeout", None) or "unscorable"
        self._ledger = Ledger(
            self.reward.name, self.on_timeout, timeout, memory_mb, max_output, max_error_rate, not is_reward(function)
        )
        self._setup = self._plan(settings.start_of(start), memory_mb, max_output)
        self._pace = Pace()
        self._compared = False
        self._columns: dict[str, None] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._holder = Holder()
        weakref.finalize(self, Holder.close, self._holder)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def __enter__(self) -> Self:
        with self._lock:
            self._check_process()
            if self._setup is not None:
                self._holder.hire(self._setup, self.workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The name of the reward."""
        return self.reward.name

    @property
    def needs_gold(self) -> bool:
        """Whether the reward needs a gold answer."""
        return isinstance(self.reward, ChecksGolds) and self.reward.needs_gold

    @property
    def in_process(self) -> bool:
        """Whether items are scored in this process, without bounds, because no other can build the reward."""
        return self._setup is None

    def unreadable(self, answer: str) -> str:
        """Say why no completion could be judged against ``answer``; an empty string if one could."""
        return self.reward.unreadable(answer) if isinstance(self.reward, ChecksGolds) else ""

    def check_columns(self, columns: Sequence[str], has_answers: bool) -> None:
        """Raise `ConfigError` if the reward asks for a column that is not there."""
        if isinstance(self.reward, ChecksColumns):
            self.reward.check_columns(columns, has_answers)
        self._columns.update(dict.fromkeys(columns))

    def metrics(self) -> dict[str, float]:
        """The reward's counters over all workers, and how many items ended by each bound."""
        total = dict(self.reward.metrics()) if isinstance(self.reward, Counts) else {}
        for name, value in self._ledger.metrics().items():
            total[name] = total.get(name, 0.0) + value
        return total

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item; the verdicts come in the order of the items.

        Raises:
            RewardError: if the reward breaks its contract or fails too often, if a killed item is worth
                ``raise``, if workers cannot load the reward or die without judging anything, or if a column
                cannot be sent to them. The pool can be used again.
            ConfigError: in a fork of the process that made the pool.
            TypeError: if something in ``items`` is no `Item`.
        """
        items = list(items)
        for item in items:
            if not isinstance(item, Item):
                raise TypeError(f"Pool.score takes winnow.reward.Item objects, found {type(item).__name__}")
        if not items:
            return []
        with self._lock:
            self._check_process()
            if self._setup is None:
                return self.reward.score(items)
            self._learn_columns(items)
            batch = self._ledger.open(items)
            compare = len(items) > 1 and not self._compared
            shift = Shift(items, tuple(self._columns), self.timeout, self._pace, batch.receive, compare)
            self._run(shift, self._setup)
            self._compared |= shift.comparison.asked
            return batch.close()

    def close(self) -> None:
        """End every process; harmless if there are none."""
        with self._lock:
            self._holder.close()

    def _plan(self, start: str, memory_mb: int, max_output: int) -> Setup | None:
        payload = packed(self.reward)
        if isinstance(payload, str):
            logger.warning(
                "reward %s is scored in this process, where no timeout and no memory limit applies: %s. Put it into a "
                "module or a file of its own, and give Pool the function imported from there, or 'file.py:function'",
                self.reward.name,
                payload,
            )
            return None
        return Setup(os.getpid(), os.getcwd(), payload, start, memory_mb, max_output)

    def _learn_columns(self, items: Sequence[Item]) -> None:
        """Tell the reward here what it will be told there, so that it refuses in the user's sight."""
        self._columns.update((name, None) for item in items for name in item.prompt.fields)
        if isinstance(self.reward, ChecksColumns):
            try:
                self.reward.check_columns(list(self._columns), has_answers=True)
            except errors.ConfigError as error:
                raise errors.RewardError(str(error)) from None

    def _run(self, shift: Shift, setup: Setup) -> None:
        for _ in range(LOSSES):
            crew = self._holder.hire(setup, self.workers)
            try:
                shift.run(crew)
                return
            except Lost:
                try:
                    shift.recover(crew)
                finally:
                    self._holder.close()
            except BaseException:
                self._holder.interrupt()
                raise
        raise errors.RewardError(
            f"reward {self.name}: the process that makes workers was killed {LOSSES} times; look for a reward that "
            "kills its parent, or for a machine that runs out of memory"
        )

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise errors.ConfigError(
                f"this Pool belongs to process {self._process}, and this is its fork {os.getpid()}: make a Pool in "
                "each process"
            )
