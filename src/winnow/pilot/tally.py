"""What a pilot saw of one prompt: counts, never the texts."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """The rollouts of one prompt.

    Attributes:
        prompt_id: the prompt.
        drawn: rollouts, scorable or not.
        outcomes: how many rollouts had each outcome; unscorable ones are in none.
        tokens: sampled tokens of all of them.
        longest: tokens of the longest.
        truncated: rollouts cut at the limit of tokens.
        reasons: why rollouts were unscorable, with counts.
    """

    prompt_id: str
    drawn: int = 0
    outcomes: Counter[float] = field(default_factory=Counter)
    tokens: int = 0
    longest: int = 0
    truncated: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: float | None, *, tokens: int, truncated: bool, reason: str = "") -> None:
        """Count one rollout; an outcome of None or NaN is unscorable, for the ``reason``."""
        self.drawn += 1
        self.tokens += tokens
        self.longest = max(self.longest, tokens)
        self.truncated += truncated
        if outcome is None or math.isnan(outcome):
            self.reasons[reason or "no reason given"] += 1
        else:
            self.outcomes[float(outcome)] += 1

    @property
    def scorable(self) -> int:
        """Rollouts with an outcome."""
        return self.outcomes.total()

    @property
    def passed(self) -> int:
        """Rollouts with an outcome of 1 or more."""
        return sum(count for outcome, count in self.outcomes.items() if outcome >= 1)

    @property
    def mixed(self) -> bool:
        """Whether two outcomes differ."""
        return len(self.outcomes) > 1

    def ties(self, n: int) -> float:
        """Return the share of subsets of n scorable rollouts whose outcomes are all equal.

        An unbiased estimate of the probability that a group of n ties, for any set of outcome values (U-statistic;
        for two values the hypergeometric form of `winnow.plan.no_signal_from_pilot`). NaN when fewer than n are
        scorable: no unbiased estimate exists then.
        """
        if self.scorable < n:
            return math.nan
        return sum(math.comb(count, n) for count in self.outcomes.values()) / math.comb(self.scorable, n)

    def key(self) -> tuple[tuple[float, int], ...]:
        """Return what tells tallies apart for every estimate: outcomes and their counts."""
        return tuple(sorted(self.outcomes.items()))
