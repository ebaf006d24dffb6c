"""verl's agent loop manager with winnow's workers, and the coordinator they share."""

from __future__ import annotations

import json
import logging
from typing import Any

import ray

from winnow.host.verl import versions

versions.check()

from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ  # noqa: E402

from winnow.host.verl import actor, driver  # noqa: E402
from winnow.host.verl.checkpoint import saved_state  # noqa: E402
from winnow.host.verl.setup import Setup  # noqa: E402
from winnow.host.verl.worker import WinnowAgentLoopWorker  # noqa: E402

logger = logging.getLogger(__name__)


class WinnowAgentLoopManager(AgentLoopManagerTQ):  # type: ignore[misc, unused-ignore]
    """Hands prompts to workers that generate what a recipe grants.

    A worker that dies takes its rollouts of the step with it; they are charged and left out. The next step finds a new
    worker in its place.

    Raises:
        ConfigError: the config contradicts the recipe; the message says what to set.
        ResumeError: the checkpoint to resume from belongs to another recipe, budget or seed.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.setup = Setup.read(self.config)
        state = saved_state(self.config, self.setup)
        self.agent_loop_workers_class = ray.remote(WinnowAgentLoopWorker)
        self.coordinator = actor.start(self.setup)
        if state is not None:
            ray.get(self.coordinator.load_state_dict.remote(state))
        driver.set_coordinator(self.coordinator)
        self._names: list[str] = []

    async def _init_agent_loop_workers(self) -> None:
        await super()._init_agent_loop_workers()
        self._names = [f"worker {place}" for place in range(len(self.agent_loop_workers))]
        for name, worker in zip(self._names, self.agent_loop_workers, strict=True):
            self._join(name, worker)

    def _join(self, name: str, worker: Any) -> None:
        worker.join.remote(self.coordinator, self.setup.outcome)
        self.coordinator.watch.remote(name, worker)

    def generate_sequences(self, prompts: Any) -> None:
        """Open a step over the prompts, and dispatch them; validation goes the way of verl.

        Args:
            prompts: TensorDict of rows of the dataset with ``uid`` and ``global_steps``.

        Raises:
            ConfigError: the step has more prompts than it should.
        """
        self._replace_lost()
        if prompts.get("validate", False):
            super().generate_sequences(prompts)
            return
        chunks = prompts.chunk(len(self.agent_loop_workers))
        owners = {str(uid): name for name, chunk in zip(self._names, chunks, strict=False) for uid in chunk["uid"]}
        texts = [_text(messages) for messages in prompts["raw_prompt"]] if self.setup.reads_prompts else []
        ray.get(self.coordinator.open.remote(_number(prompts), owners, texts))
        calls = [
            (name, worker.generate_sequences.remote(chunk))
            for name, worker, chunk in zip(self._names, self.agent_loop_workers, chunks, strict=False)
        ]
        for name, call in calls:
            try:
                ray.get(call)
            except ray.exceptions.RayActorError:
                logger.exception("agent loop %s is lost before it had its prompts", name)
                ray.get(self.coordinator.lose.remote(name))

    def _replace_lost(self) -> None:
        gone = ray.get(self.coordinator.gone.remote())
        for place, name in enumerate(self._names):
            if name in gone:
                self._names[place] = f"{name}, again"
                self.agent_loop_workers[place] = self.agent_loop_workers_class.remote(
                    self.config, self.llm_client, self.teacher_client, self.reward_loop_worker_handles
                )
                self._join(self._names[place], self.agent_loop_workers[place])
                logger.warning("agent loop %s starts in place of %s", self._names[place], name)


def _text(messages: Any) -> str:
    return json.dumps(list(messages), sort_keys=True, default=str)


def _number(prompts: Any) -> int:
    found = prompts["global_steps"]
    return int(found if isinstance(found, int) else next(iter(found)))
