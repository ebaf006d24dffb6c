"""What the parts in verl's driver process share: verl makes each of them itself and passes nothing between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow.errors import ConfigError


@dataclass(frozen=True)
class Worth:
    """What the rows of the current batch are worth, and what their loss is divided by.

    Attributes:
        rows: advantage times weight by name of the row, see `row_name`.
        per_row: verl's loss is a mean over rows (``seq-mean-*``), not over tokens.
        full_rows: rows that the mean is taken over, where the recipe counts everything generated; None: the kept ones.
        token_scale: factor on a mean over tokens, for the same reason.
    """

    rows: Mapping[str, float]
    per_row: bool = False
    full_rows: int | None = None
    token_scale: float = 1.0

    def scale(self, places: int, rows: int) -> float:
        """Return the factor that makes ``rows``, not ``places`` (padding included), the denominator of the loss."""
        return places / (self.full_rows or rows) if self.per_row else self.token_scale


def row_name(uid: str, session: int) -> str:
    """Return what the field ``uid`` of a row that trains is set to: verl passes no other name to an estimator."""
    return f"{uid}#{session}"


_coordinator: Any = None
_worth: Worth | None = None


def set_coordinator(handle: Any) -> None:
    """Leave the coordinator's handle for the other parts."""
    global _coordinator
    _coordinator = handle


def coordinator() -> Any:
    """Return the coordinator's handle.

    Raises:
        ConfigError: no `WinnowAgentLoopManager` was made in this process.
    """
    if _coordinator is None:
        raise ConfigError(
            "WinnowReplayBuffer found no coordinator: set ++actor_rollout_ref.rollout.agent.agent_loop_manager_class="
            "winnow.host.verl.manager.WinnowAgentLoopManager"
        )
    return _coordinator


def set_worth(worth: Worth | None) -> None:
    """Leave what the rows of a batch are worth for the estimator."""
    global _worth
    _worth = worth


def worth() -> Worth:
    """Return what the rows of the current batch are worth.

    Raises:
        ConfigError: no `WinnowReplayBuffer` sampled a batch in this process.
    """
    if _worth is None:
        raise ConfigError(
            "algorithm.adv_estimator=winnow found no decision: set trainer.v1.sampler.custom_sampler.path="
            "pkg://winnow.host.verl.replay trainer.v1.sampler.custom_sampler.name=WinnowReplayBuffer"
        )
    return _worth
