"""One step of a recipe for all agent loop workers: every prompt of every worker asks here what it may run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from winnow.budget import Ledger
from winnow.candidates import named_by
from winnow.errors import ConfigError
from winnow.features import hashed
from winnow.host.metrics import totals
from winnow.host.verl.decision import Decision, decide
from winnow.host.verl.play import Play, Report
from winnow.host.verl.setup import Setup
from winnow.train.seeds import derive


@dataclass(frozen=True)
class Progress:
    """How far a step is.

    Attributes:
        closed: nothing more will be generated.
        failed: prompts of lost workers, whose end nobody else will report.
    """

    closed: bool
    failed: tuple[str, ...]


class Coordinator:
    """Runs one step after the other; every method is called from one asyncio loop.

    The budget of a step is one for all workers: what is granted to one is not there for another. An error inside ends
    the step for everybody; `wait` raises it.

    Args:
        setup: the recipe and its limits.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        # Its own copy: arrays that Ray hands to an actor are read-only, and rules that remember write in theirs.
        self._recipe = setup.recipe.fresh()
        self._ledger = Ledger()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._begin(None)

    def _begin(self, number: int | None) -> None:
        self._wake_all()
        self._number = number
        self._owners: dict[str, str] = {}
        self._texts: list[str] = []
        self._play: Play | None = None
        self._decision: Decision | None = None
        self._ended = False
        self._error: Exception | None = None
        self._news = asyncio.Event()
        self._lost: list[str] = []
        self._seconds = 0.0

    async def open(self, number: int, owners: Mapping[str, str], texts: Sequence[str] = ()) -> None:
        """Register prompts of a step, which begins when all of them are known.

        Args:
            number: of the training step; a new one begins a new step.
            owners: worker by uid of the prompt, in the order of the prompts.
            texts: of the prompts, for recipes that remember or compare them (`Setup.reads_prompts`).

        Raises:
            ConfigError: the step has more prompts than it should.
        """
        if number != self._number:
            self._begin(number)
        self._owners |= owners
        self._texts += texts
        if len(self._owners) > self.setup.pool:
            raise ConfigError(
                f"step {number} got {len(self._owners)} prompts, expected {self.setup.pool}: "
                "data.train_batch_size prompts, times the pool of a recipe that refills"
            )
        if len(self._owners) < self.setup.pool:
            return
        with self._charged():
            step = self._recipe.begin(
                self.setup.pool,
                budget=self.setup.budget,
                seed=derive(self.setup.seed, "decide", number),
                ids=named_by(self._texts) if self._recipe.remembers else None,
                features=hashed(self._texts) if self._recipe.compares else None,
            )
            self._play = Play(step, list(self._owners))
            self._play.lose(uid for worker in self._lost for uid in self._prompts_of(worker))

    async def next(self, number: int, uid: str, reports: list[Report]) -> list[int]:
        """Tell what came of a prompt's rollouts, and wait until it may run more.

        Args:
            number: of the step.
            uid: of the prompt.
            reports: every rollout of the last answer.

        Returns:
            Numbers of the rollouts to run now, going on from the last; empty when the step is over for the prompt.
        """
        if number == self._number and uid in self._owners and self._play is not None:
            with self._charged():
                self._play.report(uid, reports)
        while number == self._number and uid in self._owners and not self._ended:
            if self._play is not None and (sessions := self._play.take(uid)):
                return sessions
            self._waiting[uid] = asyncio.get_running_loop().create_future()
            await self._waiting[uid]
        return []

    async def fail(self, number: int, error: Exception) -> None:
        """End a step with an error that a worker met."""
        if number == self._number:
            self._end(error)

    async def lose(self, worker: str) -> None:
        """Give up a worker: its rollouts count as generated and unscorable, and its prompts get no more."""
        if worker not in self._owners.values() or worker in self._lost:
            return
        self._lost.append(worker)
        if self._play is not None:
            with self._charged():
                self._play.lose(self._prompts_of(worker))
        self._news.set()

    def _prompts_of(self, worker: str) -> list[str]:
        return [uid for uid, owner in self._owners.items() if owner == worker]

    async def wait(self, number: int, seconds: float) -> Progress:
        """Return when the step is over, a worker is lost, or the time is up.

        Raises:
            Exception: whatever went wrong inside.
            ConfigError: the step was never opened.
        """
        if number != self._number:
            raise ConfigError(f"step {number} was not opened: is the agent loop manager winnow's?")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)
        if self._error is not None:
            raise self._error
        if not self._ended:
            self._news.clear()
        return Progress(self._ended, tuple(uid for uid, owner in self._owners.items() if owner in self._lost))

    async def finish(self, number: int) -> Decision:
        """Return what trains; called again, the same.

        Raises:
            ConfigError: the step is not over.
        """
        if number != self._number or self._play is None or not self._ended:
            raise ConfigError(f"step {number} is not over: finish() comes after wait() has said so")
        if self._decision is None:
            began = perf_counter()
            decision = decide(self._play, {worker: self._prompts_of(worker) for worker in self._lost})
            self._ledger.add(decision.ledger)
            seconds = {"winnow/seconds/decide": self._seconds + perf_counter() - began}
            self._decision = replace(decision, metrics={**decision.metrics, **totals(self._ledger), **seconds})
        return self._decision

    async def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint has to carry; plain values."""
        return {
            "identity": self.setup.identity,
            "state": self._recipe.state_dict(),
            "ledger": self._ledger.as_dict(),
        }

    async def load_state_dict(self, content: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._recipe.load_state_dict(content["state"])
        self._ledger = Ledger.from_dict(content["ledger"])

    @contextmanager
    def _charged(self) -> Iterator[None]:
        """Book the time, keep the first error, and wake whoever has something to do."""
        began = perf_counter()
        try:
            yield
        except Exception as error:  # whatever it is: wait() raises it in the driver
            self._end(error)
        finally:
            self._seconds += perf_counter() - began
        if self._play is not None:
            if self._play.closed:
                self._end(None)
            for uid in self._play.fresh():
                self._wake(uid)

    def _end(self, error: Exception | None) -> None:
        self._error = self._error or error
        self._ended = True
        self._news.set()
        self._wake_all()

    def _wake_all(self) -> None:
        for uid in list(self._waiting):
            self._wake(uid)

    def _wake(self, uid: str) -> None:
        future = self._waiting.pop(uid, None)
        if future is not None and not future.done():
            future.set_result(None)
