"""verl's replay buffer with the recipe's choice: of everything that a step generated, the rows that train."""

from __future__ import annotations

import logging
import time
from typing import Any

import ray
import transfer_queue as tq

from winnow.host.verl import versions

versions.check()

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer  # noqa: E402
from verl.utils.tensordict_utils import get_tensordict  # noqa: E402

from winnow.errors import RewardError, SafetyStop  # noqa: E402
from winnow.host.verl import driver  # noqa: E402
from winnow.host.verl.advantage import register  # noqa: E402
from winnow.host.verl.decision import Decision  # noqa: E402
from winnow.host.verl.padding import pad  # noqa: E402
from winnow.host.verl.play import Session  # noqa: E402
from winnow.host.verl.setup import Setup  # noqa: E402

register()
logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
"""Between looks at the queue once everything is generated and workers are still writing that down."""


class WinnowReplayBuffer(ReplayBuffer):  # type: ignore[misc, unused-ignore]
    """Waits for a step of the recipe, drops the rows that do not train from verl's queue, and hands out the others.

    Raises:
        ConfigError: the config contradicts the recipe; said before models are loaded.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._trainer = self.refill_fn.__self__
        self.setup = Setup.read(self._trainer.config)
        self._number = 0
        self._in_a_row = 0

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """Return the rows that train and the numbers of the step.

        Args:
            global_steps: number of the step.
            partition_id: ``"train"``; anything else is verl's.
            batch_size: prompts of a step, without the spares of a recipe that refills.

        Raises:
            SafetyStop: too many steps in a row had nothing to learn.
            RewardError: no rollout of the step has a reward.
        """
        if partition_id != "train":
            result: tuple[Any, dict[str, Any]] = super().sample(global_steps, partition_id, batch_size)
            return result
        self._number = global_steps
        pool = self.setup.recipe.pool
        if pool > 1:
            self.refill_fn((pool - 1) * batch_size)
        batch, metrics = super().sample(global_steps, partition_id, pool * batch_size)
        decision: Decision = ray.get(driver.coordinator().finish.remote(global_steps))
        for worker, count in decision.lost.items():
            logger.error("step %d: agent loop %s was lost with %d rollouts in flight", global_steps, worker, count)
        keys, empty = self._kept(batch, decision)
        self._drop(partition_id, keys)
        self._name(partition_id, keys, decision)
        self._watch(decision)
        extra = {"winnow/empty": float(empty), "winnow/padding_rows": -len(keys) % self.setup.mini_batch}
        padded = pad(batch.select_keys(keys), self.setup.mini_batch, self._trainer.tokenizer.eos_token_id)
        return padded, metrics | dict(decision.metrics) | extra

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        if partition_id != "train":
            last: float = super()._wait_for_next_poll(partition_id, last_debug_time)
            return last
        progress = ray.get(driver.coordinator().wait.remote(self._number, self.poll_interval))
        open_keys = self.pending_keys[partition_id] | self.running_keys[partition_id]
        if failed := [uid for uid in progress.failed if uid in open_keys]:
            tq.kv_batch_put(keys=failed, partition_id=partition_id, tags=[{"status": "failure"} for _ in failed])
        elif progress.closed:
            time.sleep(POLL_SECONDS)
        return last_debug_time

    def _kept(self, batch: Any, decision: Decision) -> tuple[list[str], bool]:
        """Return the keys that train; verl cannot do with none, so then the shortest row stands in, worth 0."""
        keys = [key for key in batch.keys if session_of(key) in decision.worth]
        if keys:
            return keys, False
        lengths = {
            key: tag["seq_len"] for key, tag in zip(batch.keys, batch.tags, strict=True)
            if session_of(key) in decision.scorable
        }  # fmt: skip
        if not lengths:
            raise RewardError(
                f"step {self._number}: none of {decision.ledger.rollouts} rollouts has a reward, so there is no row to "
                "train on; look at what the reward function returns and at the workers' log"
            )
        session = session_of(min(lengths, key=lambda key: (lengths[key], key)))
        return [key for key in batch.keys if session_of(key) == session], True

    def _drop(self, partition_id: str, kept: list[str]) -> None:
        """Take everything else out of the queue, whoever put it there: a lost worker may still have written."""
        gone = sorted(self.partitions[partition_id].keys() - set(kept))
        if gone:
            tq.kv_clear(keys=gone, partition_id=partition_id)

    def _name(self, partition_id: str, keys: list[str], decision: Decision) -> None:
        """Name the rows for the estimator, and leave what they are worth."""
        sessions = [session_of(key) for key in keys]
        names = [driver.row_name(*session) for session in sessions]
        tq.kv_batch_put(keys=keys, partition_id=partition_id, fields=get_tensordict({"uid": names}))
        full = self.setup.recipe.objective.denominator == "full"
        rows = {name: decision.worth.get(session, 0.0) for name, session in zip(names, sessions, strict=True)}
        driver.set_worth(
            driver.Worth(
                rows=rows,
                per_row=self.setup.loss_agg_mode.startswith("seq-mean"),
                full_rows=sum(session_of(key) in decision.scorable for key in self.partitions[partition_id])
                if full
                else None,
                token_scale=decision.kept_tokens / max(1, decision.full_tokens) if full else 1.0,
            )
        )

    def _watch(self, decision: Decision) -> None:
        self._in_a_row = 0 if decision.ledger.trained else self._in_a_row + 1
        if 0 < self.setup.max_no_signal_steps <= self._in_a_row:
            raise SafetyStop(
                f"{self._in_a_row} steps in a row had no trainable row (limit +winnow.max_no_signal_steps="
                f"{self.setup.max_no_signal_steps}, 0 for none): within every prompt all rollouts got the same reward. "
                "Look at winnow/signal/all_pass and all_fail: use easier or harder prompts, a larger n, or a higher "
                "temperature; with rewards that are missing, look at winnow/unscorable"
            )


def session_of(key: str) -> Session:
    """Return the rollout that a key of verl's queue belongs to: ``{uid}_{session}_{output}``."""
    uid, session, _ = key.rsplit("_", 2)
    return uid, int(session)
