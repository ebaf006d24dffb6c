"""The default task: countdown, chain sums and simple equations, with a knob for the spread of difficulty.

``spread`` moves weight between two mixes of levels: at 0 the middle levels, where the shipped policy is
sometimes right, at 1 the ends, where it is nearly always right or nearly always wrong. The share of groups
without signal (all rollouts right, or all wrong) at n = 8 follows: about 20% at 0, 50% at the default 0.5,
80% at 1, measured with the shipped policy at temperature 1 (see ``policy/README.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from winnow import errors
from winnow.reward.base import Item, binary
from winnow.reward.exact import same
from winnow.rollout import Prompt, Verdict
from winnow.task import countdown
from winnow.task.arithmetic import LEVELS, Problem, problems
from winnow.task.record import Task, fingerprint

POLICY = Path(__file__).parent / "policy"
"""Folder of the shipped policy."""

OPTIONS = {"spread": 0.5, "train_size": 4000, "test_size": 256}
"""The options of the task and their defaults."""

_MOST_TRAIN = 1_000_000
# The smallest level has 432 problems; test must leave most of them to train.
_MOST_TEST = 1024

MIDDLE: dict[str, float] = {
    "chain_sum/1": 0.25,
    "chain_sum/2": 0.1,
    "simple_equations/1": 0.2,
    "countdown/0": 0.15,
    "countdown/1": 0.2,
    "countdown/2": 0.1,
}
"""Shares of the levels at ``spread=0``."""

ENDS: dict[str, float] = {
    "chain_sum/0": 0.2,
    "chain_sum/3": 0.15,
    "simple_equations/0": 0.2,
    "countdown/3": 0.45,
}
"""Shares of the levels at ``spread=1``."""


def load(seed: int, options: Mapping[str, Any]) -> Task:
    """Draw the default task.

    Args:
        seed: decides every problem. No text of test occurs in train; within a split texts may repeat.
        options: ``spread`` in [0, 1], ``train_size`` and ``test_size`` (numbers of prompts).

    Returns:
        The task; each prompt carries ``family`` and ``level`` in its fields, countdown also ``numbers`` and
        ``target``.

    Raises:
        ConfigError: on an unknown option or a value out of range.
    """
    for name in options:
        if name not in OPTIONS:
            raise errors.unknown("option of the task 'mix'", name, OPTIONS)
    chosen = {**OPTIONS, **options}
    spread = chosen["spread"]
    if isinstance(spread, bool) or not isinstance(spread, int | float) or not 0 <= spread <= 1:
        raise errors.ConfigError(f"the option spread of the task 'mix' is {spread!r}; it must lie in [0, 1]")
    for name, limit in (("train_size", _MOST_TRAIN), ("test_size", _MOST_TEST)):
        size = chosen[name]
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= limit:
            raise errors.ConfigError(
                f"the option {name} of the task 'mix' is {size!r}; it must be a whole number from 1 to {limit}"
            )
    test = _draw("test", chosen["test_size"], spread, seed, frozenset())
    train = _draw("train", chosen["train_size"], spread, seed, frozenset(prompt.text for prompt in test))
    return Task(
        name="mix",
        train=train,
        test=test,
        reward=Arithmetic(),
        fingerprint=fingerprint(train, test),
        policy=str(POLICY),
    )


def shares(spread: float) -> dict[str, float]:
    """Return the share of each level, by name, at a spread; they sum to 1."""
    mixed = {level: (1 - spread) * MIDDLE.get(level, 0.0) + spread * ENDS.get(level, 0.0) for level in LEVELS}
    return {level: share for level, share in mixed.items() if share > 0}


def _draw(split: str, size: int, spread: float, seed: int, taken: frozenset[str]) -> list[Prompt]:
    """Draw ``size`` problems whose texts are not in ``taken``, with the levels in random order."""
    drawn: list[Problem] = []
    for level, count in _counts(shares(spread), size).items():
        stream = problems(level, Random(f"mix/{seed}/{split}/{level}"))
        drawn.extend(islice((problem for problem in stream if problem.text not in taken), count))
    Random(f"mix/{seed}/{split}").shuffle(drawn)
    return [prompt_of(f"{split}:{index}", problem) for index, problem in enumerate(drawn)]


def _counts(weights: Mapping[str, float], size: int) -> dict[str, int]:
    """Split ``size`` by weight into whole numbers, largest remainders first (ties by order)."""
    exact = {name: size * weight for name, weight in weights.items()}
    counts = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: size - sum(counts.values())]:
        counts[name] += 1
    return counts


def prompt_of(name: str, problem: Problem) -> Prompt:
    """The problem as a prompt with the id ``name``."""
    fields: dict[str, Any] = {"family": problem.family, "level": problem.level}
    if problem.numbers:
        fields |= {"numbers": list(problem.numbers), "target": problem.target}
    return Prompt(id=name, content=problem.text, answer=problem.answer, fields=fields)


@dataclass(frozen=True)
class Arithmetic:
    """The verifier of the default task: 1 for a right answer, 0 for any other; nothing is unscorable."""

    name: str = "arithmetic"

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item: countdown by evaluating the expression, the others by comparing numbers."""
        return [self._judge(item) for item in items]

    def _judge(self, item: Item) -> Verdict:
        fields = item.prompt.fields
        if "numbers" in fields:
            reason = countdown.judge(item.completion, fields["numbers"], fields["target"])
            return binary(not reason, reason)
        return binary(same(item.prompt.answer or "", item.completion))
