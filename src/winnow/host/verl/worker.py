"""verl's agent loop worker, asking the coordinator what to run instead of running ``rollout.n`` of everything."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import transfer_queue as tq
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ

from winnow.errors import ConfigError, WinnowError
from winnow.host.verl.play import Report

logger = logging.getLogger(__name__)

_Base: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class  # Ray lets nobody derive from an actor class


class WinnowAgentLoopWorker(_Base):  # type: ignore[misc, unused-ignore]
    """Runs the rollouts that a recipe grants to its prompts, each through verl's own agent loop.

    Validation is verl's. A rollout whose agent loop, reward or queue fails is reported as unscorable, and its prompt
    gets verl's status ``failure``, as in verl.
    """

    _coordinator: Any = None
    _outcome: str | None = None

    async def join(self, coordinator: Any, outcome: str | None) -> None:
        """Take the coordinator's handle, and the key of ``reward_extra_info`` on which signal is judged."""
        self._coordinator, self._outcome = coordinator, outcome

    async def stay(self) -> None:
        """Never return: whoever waits for it learns when this process ends."""
        await asyncio.Event().wait()

    async def _run_prompt(
        self, prompt: dict[str, Any], sampling_params: dict[str, Any], trajectory: dict[str, Any], trace: bool = False
    ) -> None:
        if trajectory["validate"]:
            await super()._run_prompt(prompt, sampling_params, trajectory=trajectory, trace=trace)
            return
        uid, number = prompt["uid"], int(prompt["global_steps"])
        await tq.async_kv_put(key=uid, partition_id="train", tag={"status": "running"})
        for name in ("__rollout_n__", "__do_sample__"):
            prompt.pop(name, None)
        status = "finished"
        try:
            reports: list[Report] = []
            while sessions := await self._coordinator.next.remote(number, uid, reports):
                reports = await asyncio.gather(
                    *(
                        self._session(number, session, prompt, sampling_params, trajectory, trace)
                        for session in sessions
                    )
                )
                if any(report.tokens is None for report in reports):
                    status = "failure"
        except Exception:  # the driver learns it from the coordinator; here only the prompt is ended
            logger.exception("prompt %s", uid)
            status = "failure"
        await tq.async_kv_put(key=uid, partition_id="train", tag={"status": status})

    async def _session(self, number: int, session: int, prompt: dict[str, Any], *arguments: Any) -> Report:
        sampling_params, trajectory, trace = arguments
        try:
            report: Report | None = await self._run_agent_loop(
                dict(sampling_params), trajectory=trajectory, trace=trace, session_id=session, **prompt
            )
        except WinnowError as error:
            await self._coordinator.fail.remote(number, error)
            report = Report(session, None)
        except Exception:  # as verl: one failed rollout is no reason to stop
            logger.exception("rollout %d of prompt %s", session, prompt["uid"])
            report = Report(session, None)
        return report if report is not None else Report(session, None, tokens=0)

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **fields: Any) -> Report | None:
        await super()._agent_loop_postprocess(output, validate, **fields)
        outputs = output if isinstance(output, list) else [output]
        if validate or not outputs:
            return None
        tokens = sum(sum(part.response_mask) for part in outputs)
        reward = outputs[-1].reward_score
        score = None if reward is None else float(reward)
        return Report(fields["session_id"], score, self._verdict(outputs[-1]), tokens)

    def _verdict(self, final: Any) -> float | None:
        if self._outcome is None or final.reward_score is None:
            return None
        found = final.extra_fields.get("reward_extra_info", {})
        if self._outcome not in found:
            raise ConfigError(
                f"winnow.outcome={self._outcome!r} is not what the reward function returns: it has "
                f"{', '.join(sorted(found)) or 'no keys'}"
            )
        verdict = found[self._outcome]
        return None if verdict is None else float(verdict)
