"""What a step of a recipe came to, in the words of verl: sessions, not rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from winnow.budget import Ledger
from winnow.host.metrics import step_metrics
from winnow.host.verl.play import Play, Session


@dataclass(frozen=True)
class Decision:
    """Which rollouts train.

    Attributes:
        worth: advantage times weight of every rollout kept for training; one of 0 teaches nothing and still counts.
        scorable: every rollout with a reward.
        ledger: the account of the step.
        kept_tokens, full_tokens: generated tokens of the kept and of all scorable rollouts.
        metrics: under ``winnow/`` names.
        lost: rollouts given up, by worker.
        reason: why budget is left over, or an empty string.
    """

    worth: Mapping[Session, float]
    scorable: frozenset[Session]
    ledger: Ledger
    kept_tokens: int
    full_tokens: int
    metrics: Mapping[str, float]
    lost: Mapping[str, int]
    reason: str


def decide(play: Play, lost: Mapping[str, Iterable[str]]) -> Decision:
    """End a step whose rollouts all are in or given up.

    Args:
        play: the step.
        lost: prompts by lost worker.

    Raises:
        ConfigError: rollouts are still out.
    """
    batch, told = play.finish()
    worth = (batch.advantages * batch.weights).tolist()
    return Decision(
        worth={told.sessions[row]: value for row, value in zip(batch.rows.tolist(), worth, strict=True)},
        scorable=frozenset(
            session for session, fate in zip(told.sessions, batch.fates, strict=True) if fate != "unscorable"
        ),
        ledger=batch.ledger,
        kept_tokens=batch.kept_tokens,
        full_tokens=batch.full_tokens,
        metrics=step_metrics(batch, told.owners, told.rewards, told.outcomes)
        | {"winnow/lost_rollouts": play.lost.total(), "winnow/late_reports": play.late},
        lost={worker: sum(play.lost[uid] for uid in uids) for worker, uids in lost.items()},
        reason=batch.reason,
    )
