"""Warn about rewards that say the same about everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from winnow.rollout import Verdict

STEPS = 5
"""Steps after which a reward that never varied is worth a word."""


class ConstantReward:
    """Watches the first steps of a run for a reward, or a part of one, that never varies.

    A format reward that is 0 for a whole run looks like any other line in a log: typically it looks for a tag that the
    chat template already put into the prompt.

    Args:
        note: shows a line to a person.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._steps = 0
        self._range: dict[str, tuple[float, float]] = {}

    def look(self, verdicts: Sequence[Verdict | None]) -> None:
        """Look at the verdicts of one step, without unscorable ones; after `STEPS` steps say what was constant."""
        if self._steps >= STEPS:
            return
        for name, value in _values(verdicts):
            low, high = self._range.get(name, (value, value))
            self._range[name] = min(low, value), max(high, value)
        self._steps += 1
        if self._steps == STEPS:
            for name, (low, high) in self._range.items():
                if low == high:
                    self._note(
                        f"{name} was {low:g} for every rollout of the first {STEPS} steps, so it teaches nothing yet. "
                        "If that is not what you expect, read some of rollouts.jsonl, and look whether the chat "
                        "template puts into the prompt what the reward looks for in the completion"
                    )


def _values(verdicts: Sequence[Verdict | None]) -> Iterator[tuple[str, float]]:
    for verdict in verdicts:
        if verdict is None:
            continue
        if verdict.score is not None:
            yield "the reward", verdict.score
        for name, part in verdict.parts.items():
            if part is not None:
                yield f"the part {name!r} of the reward", part
