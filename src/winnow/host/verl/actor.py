"""The coordinator as a Ray actor, which also notices when an agent loop worker dies."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from uuid import uuid4

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from winnow.host.verl.coordinator import Coordinator
from winnow.host.verl.setup import Setup

logger = logging.getLogger(__name__)

CALLS = 1_000_000
"""Calls at a time: every prompt of a step waits in one, and there is nothing to hold them back for."""


class CoordinatorActor(Coordinator):
    """A `Coordinator` with an eye on the workers."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._gone: set[str] = set()
        self._watches: set[asyncio.Task[None]] = set()

    async def watch(self, name: str, worker: Any) -> None:
        """Watch a worker: a call that never returns fails when the worker does, however it came to that."""
        task = asyncio.create_task(self._watch(name, worker))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def _watch(self, name: str, worker: Any) -> None:
        try:
            await worker.stay.remote()
        except ray.exceptions.RayError as error:
            logger.error("agent loop %s is lost: %s", name, error)
            self._gone.add(name)
            await self.lose(name)

    async def gone(self) -> set[str]:
        """Return every worker that was lost since the start."""
        return self._gone


def start(setup: Setup) -> Any:
    """Return the handle of a new coordinator, on the node of the caller."""
    here = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=False)
    kind = ray.remote(CoordinatorActor).options(
        name=f"winnow_coordinator_{uuid4().hex[:8]}", num_cpus=0, max_concurrency=CALLS, scheduling_strategy=here
    )
    return kind.remote(setup)
