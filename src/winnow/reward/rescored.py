"""Find out on the first batch whether a reward says the same twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from winnow.reward.base import Counts, Item, Reward
from winnow.reward.guard import place
from winnow.rollout import Verdict


class Rescored:
    """Scores the first batch twice and warns when verdicts differ.

    A noisy verifier creates variance within groups, and methods that look for variance would chase it. The first
    verdicts count, whatever the second ones are; later batches pass straight through. What the second pass adds to the
    reward's counters is taken out again.

    Args:
        reward: the reward.
        warn: called with one message that names the reward, how many verdicts differ, and the first of them.
    """

    def __init__(self, reward: Reward, warn: Callable[[str], None]) -> None:
        self.reward = reward
        self._warn = warn
        self._fresh = True
        self._twice: dict[str, float] = {}

    @property
    def name(self) -> str:
        """The name of the reward."""
        return self.reward.name

    def metrics(self) -> dict[str, float]:
        """The reward's counters, without those of the second pass."""
        return {name: value - self._twice.get(name, 0.0) for name, value in _counters(self.reward).items()}

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item."""
        verdicts = self.reward.score(items)
        if self._fresh and items:
            self._fresh = False
            before = _counters(self.reward)
            self._compare(items, verdicts, self.reward.score(items))
            after = _counters(self.reward)
            self._twice = {name: value - before.get(name, 0.0) for name, value in after.items()}
        return verdicts

    def _compare(self, items: Sequence[Item], first: Sequence[Verdict], second: Sequence[Verdict]) -> None:
        differing = [
            (item, one, two)
            for item, one, two in zip(items, first, second, strict=True)
            if (one.score, one.outcome) != (two.score, two.outcome)
        ]
        if differing:
            item, one, two = differing[0]
            self._warn(
                f"reward is not deterministic: {len(differing)} of the {len(items)} completions of the first batch got "
                f"another verdict from {self.name} when scored again, the first on {place(item)}: "
                f"{_shown(one)}, then {_shown(two)}. Noise looks like signal to a group: make the reward depend on "
                "the completion alone"
            )


def _counters(reward: Reward) -> dict[str, float]:
    return reward.metrics() if isinstance(reward, Counts) else {}


def _shown(verdict: Verdict) -> str:
    if verdict.score is None:
        return f"unscorable ({verdict.reason})" if verdict.reason else "unscorable"
    return f"{verdict.score:g}"
