"""The rewards of a log: their means, what is constant, what could not be scored, what was cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from winnow.audit.findings import Finding
from winnow.audit.log import Entry
from winnow.audit.stats import Moments

MOST_REASONS = 1000
"""Different reasons counted; further ones are added up as `OTHERS`."""
OTHERS = "other reasons"
LONGEST_REASON = 100
SHOWN_REASONS = 10
FEWEST = 8
"""Rollouts below which a constant says nothing."""
MANY_UNSCORABLE, MANY_TRUNCATED = 0.01, 0.05


class Rewards:
    """Numbers over all rollouts. Memory: constant, beside one entry per part and at most `MOST_REASONS` reasons."""

    def __init__(self) -> None:
        self.reward, self.outcome, self.length = Moments(), Moments(), Moments()
        self.parts: dict[str, Moments] = {}
        self.reasons: Counter[str] = Counter()
        self.rollouts = self.unscorable = self.passed = 0
        self.cut, self.whole = Moments(), Moments()
        self.cut_passed = 0

    def entry(self, entry: Entry) -> None:
        """Take a rollout in."""
        self.rollouts += 1
        self.reward.add(entry.reward)
        self.outcome.add(entry.outcome)
        self.length.add(float(entry.length))
        for name, value in entry.parts.items():
            self.parts.setdefault(name, Moments()).add(value)
        (self.cut if entry.truncated else self.whole).add(entry.reward)
        self.passed += entry.passed
        self.cut_passed += entry.truncated and entry.passed
        if entry.reward is None:
            self.unscorable += 1
            reason = entry.reason[:LONGEST_REASON] or "no reason given"
            self.reasons[reason if reason in self.reasons or len(self.reasons) < MOST_REASONS else OTHERS] += 1

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON; a mean stands beside its count."""
        cut = self.cut.count + self.cut.missing
        return {
            "reward": self.reward.as_dict(),
            "outcome": self.outcome.as_dict(),
            "passed": self.passed,
            "parts": {name: part.as_dict() for name, part in sorted(self.parts.items())},
            "length": self.length.as_dict(),
            "unscorable": {
                "count": self.unscorable,
                "share": self.unscorable / self.rollouts,
                "reasons": dict(self.reasons.most_common(SHOWN_REASONS)),
            },
            "truncated": {
                "count": cut,
                "share": cut / self.rollouts,
                "passed": self.cut_passed,
                "reward": self.cut.as_dict(),
                "reward_of_others": self.whole.as_dict(),
            },
        }

    def findings(self) -> Iterator[Finding]:
        """Yield what these numbers say."""
        if not self.reward.count:
            reason = next(iter(self.reasons.most_common(1)))[0]
            yield Finding("high", "unscorable", f"not one of {self.rollouts:,} rollouts was scored: {reason}",
                          "correct the reward, or the golds it cannot read: winnow check")  # fmt: skip
        elif self.unscorable / self.rollouts >= MANY_UNSCORABLE:
            reason, count = self.reasons.most_common(1)[0]
            yield Finding(
                "medium",
                "unscorable",
                f"{self.unscorable:,} of {self.rollouts:,} rollouts ({self.unscorable / self.rollouts:.1%}) were not "
                f"scored; most often ({count:,}): {reason}",
                "they are left out of every mean and train nothing: correct the reward for these cases",
            )
        yield from self._constant()
        cut = self.cut.count + self.cut.missing
        if cut / self.rollouts >= MANY_TRUNCATED:
            yield Finding(
                "medium",
                "truncated",
                f"{cut:,} of {self.rollouts:,} rollouts ({cut / self.rollouts:.1%}) were cut at the limit of tokens; "
                f"{self.cut_passed:,} of them passed",
                "raise max_new_tokens, or ask for shorter answers: the reward judges unfinished text",
            )

    def _constant(self) -> Iterator[Finding]:
        if self.reward.constant and self.reward.count >= FEWEST:
            yield Finding(
                "high",
                "constant",
                f"the reward is {self.reward.low:g} for all {self.reward.count:,} scored rollouts",
                "nothing can be learned from it: look at completions, answer extraction and golds",
            )
            return
        for name, part in sorted(self.parts.items()):
            if part.constant and part.count >= FEWEST:
                yield Finding(
                    "medium",
                    "constant",
                    f"part {name} is {part.low:g} for all {part.count:,} rollouts that have it",
                    "it teaches nothing: see whether it judges the completion alone where the prompt opened the tag, "
                    "or leave it out",
                )
