"""What a pool makes of what its workers report: verdicts, counters, and when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from winnow import errors
from winnow.reward.base import Item
from winnow.reward.guard import Event, Guard, Policy, place
from winnow.reward.pool.checking import errors_class
from winnow.reward.pool.judging import brief, verdict_of
from winnow.rollout import Verdict

# What happened to an item -> the counter.
_COUNTERS = {
    "timeout": "reward_timeouts",
    "memory": "reward_memory",
    "crash": "reward_crashes",
    "output limit": "reward_output",
    "failed": "reward_errors",
}


class Ledger:
    """The policies and counters of a pool, over all its workers and batches.

    Args:
        name: the reward's name.
        policy: what a killed item is worth.
        timeout: the bound in seconds, for the reasons, as the next two.
        memory_mb: the bound on memory.
        max_output: the bound on the size of a verdict.
        limit: the highest share of items that may crash or raise outside of a guard.
        governs: whether ``limit`` holds for the guards inside the reward too, instead of their own.
    """

    def __init__(
        self, name: str, policy: Policy, timeout: float, memory_mb: int, max_output: int, limit: float, governs: bool
    ):
        if policy not in get_args(Policy):
            raise errors.unknown("value of on_timeout", policy, get_args(Policy))
        self.name = name
        self.policy = policy
        self._hints = {
            "timeout": f"timeout: no verdict within {timeout:g} s",
            "memory": f"memory: more than memory_mb = {memory_mb} was needed",
            "crash": "crash: {detail}",
            "output limit": f"output limit: {{detail}}, more than max_output = {max_output} allows",
        }
        self._own = Guard(name, "unscorable", limit)
        self._governs = governs
        self._guards: dict[tuple[str, float], Guard] = {}
        self._counts: Counter[str] = Counter()

    def metrics(self) -> dict[str, float]:
        """Every counter, also those that are still zero."""
        found = {counter: float(self._counts[kind]) for kind, counter in _COUNTERS.items()}
        found["reward_errors"] += sum(guard.errors for guard in self._guards.values())
        return found

    def open(self, items: Sequence[Item]) -> Batch:
        """Start a batch."""
        return Batch(self, items)

    def judge(self, item: Item, kind: str, content: Mapping[str, Any]) -> Verdict:
        """Turn what happened to an item into a verdict.

        Raises:
            RewardError: if the item was killed and that is worth ``raise``.
            WinnowError: what the reward itself raised, such as for a value that is no score.
        """
        if kind == "verdict":
            return verdict_of(content)
        if kind == "raised":
            raise (errors_class(content["type"]) or errors.RewardError)(brief(content["message"]))
        if kind == "failed":
            return Verdict(None, reason=f"{self.name} raised {content['what']}")
        reason = self._hints[kind].format_map(content)
        if self.policy == "raise":
            raise errors.RewardError(f"reward {self.name} on {place(item)}: {reason}")
        return Verdict(0.0, 0.0, reason) if self.policy == "zero" else Verdict(None, reason=reason)

    def count(self, item: Item, kind: str, verdict: Verdict, content: Mapping[str, Any]) -> None:
        """Log and count one item, in the order of the batch."""
        for name, limit, message, trace in content.get("events", ()):
            if self._governs:
                limit = self._own.limit
            guard = self._guards.get((name, limit))
            if guard is None:
                guard = self._guards[name, limit] = Guard(name, "unscorable", limit)
            guard.replay(Event(name, limit, message, trace))
        self._counts[kind] += 1
        if kind == "verdict":
            self._own.passed()
            return
        message = f"reward {self.name}, {place(item)}: {verdict.reason}"
        if kind == "timeout":
            self._own.warn(message)
        else:
            self._own.replay(Event(self.name, self._own.limit, message, content.get("trace") or message))

    def check(self) -> None:
        """Stop if too many items failed.

        Raises:
            RewardError: with the rate and the first traceback.
        """
        for guard in (self._own, *self._guards.values()):
            guard.check()


class Batch:
    """The verdicts of one batch while they arrive, in any order.

    Args:
        ledger: the pool's ledger.
        items: the items.
    """

    def __init__(self, ledger: Ledger, items: Sequence[Item]):
        self._ledger = ledger
        self._items = items
        self._received: dict[int, tuple[str, Verdict, Mapping[str, Any]]] = {}

    def receive(self, index: int, kind: str, content: Mapping[str, Any]) -> None:
        """Judge the item at ``index``; raises what `Ledger.judge` raises."""
        self._received[index] = kind, self._ledger.judge(self._items[index], kind, content), content

    def close(self) -> list[Verdict]:
        """Count everything in the order of the items, so that it does not depend on who was first.

        Raises:
            RewardError: if too many items failed.
        """
        verdicts = []
        for index, item in enumerate(self._items):
            kind, verdict, content = self._received[index]
            self._ledger.count(item, kind, verdict, content)
            verdicts.append(verdict)
        self._ledger.check()
        return verdicts
