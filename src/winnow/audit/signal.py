"""Which groups had signal, and which prompts never did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from winnow.audit.findings import Finding
from winnow.audit.groups import Group

MANY = 0.5
INVERTED = 0.05


class Signal:
    """Groups without signal, and prompts whose reward never varied. Memory: three numbers per prompt."""

    def __init__(self) -> None:
        self.kinds = dict.fromkeys(("mixed", "all_pass", "all_fail", "other_tie", "too_few"), 0)
        self.inverted = self.compared = 0
        self.trained = False
        self._prompts: dict[str, tuple[int, float, float]] = {}

    def group(self, group: Group) -> None:
        """Take a group in."""
        rewards, judged, _ = group.scorable()
        self.kinds[_kind(judged)] += 1
        self.trained |= group.step > 0
        if len(rewards):
            seen, low, high = self._prompts.get(group.prompt_id, (0, np.inf, -np.inf))
            found = (seen + len(rewards), min(low, float(rewards.min())), max(high, float(rewards.max())))
            self._prompts[group.prompt_id] = found
        passed = judged >= 1
        if passed.any() and not passed.all():
            self.compared += 1
            self.inverted += bool(rewards[~passed].max() > rewards[passed].min())

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        total = sum(self.kinds.values())
        often = [(low, high) for seen, low, high in self._prompts.values() if seen > 1]
        return {
            "groups": total,
            "kinds": self.kinds,
            "no_signal": (total - self.kinds["mixed"]) / total if total else None,
            "prompts": len(self._prompts),
            "prompts_compared": len(often),
            "prompts_constant": sum(low == high for low, high in often),
            "mixed_compared": self.compared,
            "failure_above_success": self.inverted,
        }

    def findings(self) -> Iterator[Finding]:
        """Yield what these numbers say."""
        facts = self.as_dict()
        if facts["groups"] and facts["no_signal"] >= MANY:
            kinds = facts["kinds"]
            worst = max(("all_pass", "all_fail", "other_tie", "too_few"), key=lambda kind: kinds[kind])
            yield Finding(
                "medium",
                "signal",
                f"{facts['no_signal']:.0%} of {facts['groups']:,} groups had no signal; {kinds[worst]:,} of them: "
                f"{worst.replace('_', ' ')}",
                "measure the prompts with winnow pilot and drop what teaches nothing"
                if self.trained
                else "drop the prompts that teach nothing: winnow pilot --keep writes the others to a file",
            )
        if self.compared and self.inverted / self.compared >= INVERTED:
            yield Finding(
                "high",
                "shaping",
                f"in {self.inverted:,} of {self.compared:,} groups with both, a failed rollout was paid more than one "
                "that passed",
                "the parts of the reward outweigh the verifier: lower their weights, or the policy learns them instead",
            )


def _kind(judged: Any) -> str:
    if len(judged) < 2:
        return "too_few"
    if judged.max() > judged.min():
        return "mixed"
    return "all_pass" if judged[0] >= 1 else "all_fail" if judged[0] <= 0 else "other_tie"
