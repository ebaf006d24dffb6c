"""Several rewards added up, with the verifier's outcome kept apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.reward.base import ChecksColumns, ChecksFields, ChecksGolds, Counts, Item, Reward
from winnow.reward.guard import Policy, place
from winnow.reward.values import LARGEST
from winnow.rollout import Verdict


class Combined:
    """The weighted sum of several rewards.

    The score is the sum of weight times score; every part is logged by its name. The outcome is that of the
    first reward that gives outcomes, so signal is judged on the verifier and not on the shaping. If
    one part cannot score an item, its sum would lack that part and not be comparable with the others of
    the group: the item is unscorable, and the reason names the part.

    Args:
        rewards: the parts, verifier first by custom; two with one name are told apart by a number.
        weights: one finite number per part; all 1 by default.

    Raises:
        ConfigError: if there are no rewards or the weights do not match them.
    """

    def __init__(self, rewards: Sequence[Reward], weights: Sequence[float] | None = None):
        if not rewards:
            raise errors.ConfigError("a sum of rewards needs at least one reward, found none")
        self.rewards = list(rewards)
        self.weights = [1.0] * len(rewards) if weights is None else [float(w) for w in weights]
        if len(self.weights) != len(self.rewards):
            raise errors.ConfigError(
                f"weights: expected {len(self.rewards)}, one per reward of {self.name}, got {len(self.weights)}"
            )
        self.labels = [_label(self.rewards, index) for index in range(len(self.rewards))]

    @property
    def name(self) -> str:
        """The names of the parts joined by ``+``."""
        return "+".join(reward.name for reward in self.rewards)

    @property
    def may_hang(self) -> bool:
        """Whether any part may."""
        return any(getattr(reward, "may_hang", False) for reward in self.rewards)

    def warm_up(self) -> None:
        """Let every part import what it needs."""
        for reward in self.rewards:
            if hasattr(reward, "warm_up"):
                reward.warm_up()

    @property
    def on_timeout(self) -> Policy | None:
        """What the parts agree on that killed scoring is worth; None if they do not."""
        policies = {getattr(reward, "on_timeout", None) for reward in self.rewards}
        return policies.pop() if len(policies) == 1 else None

    @property
    def needs_gold(self) -> bool:
        """Whether any part needs a gold answer."""
        return any(reward.needs_gold for reward in self.rewards if isinstance(reward, ChecksGolds))

    def metrics(self) -> dict[str, float]:
        """The counters of the parts, added up."""
        total: dict[str, float] = {}
        for reward in self.rewards:
            if isinstance(reward, Counts):
                for name, value in reward.metrics().items():
                    total[name] = total.get(name, 0.0) + value
        return total

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item with every part.

        Raises:
            RewardError: if a sum leaves the range that statistics can be taken over.
        """
        columns = [reward.score(items) for reward in self.rewards]
        sums = [self._add(verdicts) for verdicts in zip(*columns, strict=True)]
        for item, verdict in zip(items, sums, strict=True):
            if verdict.score is not None and not abs(verdict.score) <= LARGEST:
                raise errors.RewardError(
                    f"the sum {self.name} is {verdict.score:g} on {place(item)}, and a score must lie within "
                    f"{LARGEST:g} of 0: lower the weights {self.weights}"
                )
        return sums

    def unreadable(self, answer: str) -> str:
        """Say why a part could not judge against ``answer``; an empty string if all could."""
        reasons = [reward.unreadable(answer) for reward in self.rewards if isinstance(reward, ChecksGolds)]
        return next((reason for reason in reasons if reason), "")

    def unreadable_fields(self, fields: Mapping[str, Any]) -> str:
        """Say why a part could not judge a row with these columns; an empty string if all could."""
        reasons = (reward.unreadable_fields(fields) for reward in self.rewards if isinstance(reward, ChecksFields))
        return next((reason for reason in reasons if reason), "")

    @property
    def tests_column(self) -> str | None:
        """The column of the tests, if a part runs any."""
        return next((name for name in (getattr(r, "tests_column", None) for r in self.rewards) if name), None)

    def check_columns(self, columns: Sequence[str], has_answers: bool) -> None:
        """Raise `ConfigError` if a part asks for a column that is not there."""
        for reward in self.rewards:
            if isinstance(reward, ChecksColumns):
                reward.check_columns(columns, has_answers)

    def _add(self, verdicts: Sequence[Verdict]) -> Verdict:
        parts: dict[str, float | None] = {}
        total: float | None = 0.0
        reasons = []
        for label, weight, verdict in zip(self.labels, self.weights, verdicts, strict=True):
            parts[label] = verdict.score
            parts.update({f"{label}/{name}": part for name, part in verdict.parts.items()})
            if verdict.reason:
                reasons.append(f"{label}: {verdict.reason}")
            if verdict.score is None or total is None:
                total = None
            else:
                total += weight * verdict.score
        outcome = next((verdict.outcome for verdict in verdicts if verdict.outcome is not None), None)
        return Verdict(score=total, outcome=outcome, reason="; ".join(reasons), parts=parts)


def _label(rewards: Sequence[Reward], index: int) -> str:
    name = rewards[index].name
    before = sum(reward.name == name for reward in rewards[:index])
    return name if not before else f"{name}#{before + 1}"
