"""What makes two runs the same run, and the difference when they are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from winnow.errors import ConfigError, ResumeError, did_you_mean
from winnow.train.config import TrainConfig

FREE = frozenset(
    {
        *("steps", "rollouts", "tokens", "seconds", "out", "trackers"),
        *("eval_every", "eval_prompts", "eval_samples", "eval_temperature", "eval_top_p"),
        *("eval_max_new_tokens", "eval_seed", "pass_at_k", "checkpoint_every", "keep_checkpoints"),
        *("max_no_signal_steps", "max_nonfinite_steps", "max_unscorable_rate"),
        *("log_rollouts", "rollouts_file_mb", "rollouts_files"),
        *("reward_workers", "reward_memory_mb"),
    }
)
"""Settings that may differ on resume: none of them decides what is sampled or learned in a step."""

_WHERE = {"data": "the rows of the task", "policy": "the weights training starts from"}


@dataclass(frozen=True)
class Identity:
    """What has to be equal for a checkpoint to be continued.

    Attributes:
        settings: every setting that is not `FREE`, as plain JSON values.
        data: fingerprint of the rows.
        policy: fingerprint of the model before training.
    """

    settings: Mapping[str, Any]
    data: str
    policy: str

    @classmethod
    def of(cls, config: TrainConfig, data: str, policy: str) -> Identity:
        """Build from a configuration and the two fingerprints."""
        return cls(config.model_dump(mode="json", exclude=set(FREE)), data, policy)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for a checkpoint."""
        return {**self.settings, "data": self.data, "policy": self.policy}

    def check(self, saved: Mapping[str, Any], where: str, allow_change: Collection[str] = ()) -> set[str]:
        """Compare with the identity in a checkpoint.

        Args:
            saved: `as_dict` of the run that saved it.
            where: the checkpoint, for the message.
            allow_change: names that may differ: settings, ``data`` or ``policy``.

        Returns:
            The names that differ, all of them allowed.

        Raises:
            ResumeError: something else differs; the message lists every difference.
            ConfigError: ``allow_change`` holds a name that does not exist.
        """
        now = self.as_dict()
        for name in allow_change:
            if name not in now:
                raise ConfigError(f"allow_change: no setting {name!r}{did_you_mean(name, now)}")
        changed = {name for name in now.keys() | saved.keys() if now.get(name) != saved.get(name)}
        refused = sorted(changed - set(allow_change))
        if refused:
            lines = [self._line(name, saved.get(name), now.get(name)) for name in refused]
            raise ResumeError(
                f"{where} belongs to another run:\n"
                + "\n".join(lines)
                + "\nUse the settings of that run, start a new one with another out, or allow the change with "
                + f"allow_change={','.join(refused)}"
            )
        return changed

    @staticmethod
    def _line(name: str, before: Any, now: Any) -> str:
        label = f"{name} ({_WHERE[name]})" if name in _WHERE else name
        return f"  {label}: saved {before!r}, now {now!r}"
