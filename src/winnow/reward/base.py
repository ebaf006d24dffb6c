"""What every reward shares: the item it judges and the protocol it follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from winnow.rollout import Prompt, Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """One completion to judge.

    Attributes:
        prompt: the row it answers, with its gold answer and its other columns.
        completion: the sampled text, a ``str`` whether the prompt is plain text or a list of messages.
        rollout: a printable id for errors and logs.
    """

    prompt: Prompt
    completion: str
    rollout: str = ""

    def __post_init__(self) -> None:
        prompt: object = self.prompt
        completion: object = self.completion
        if not isinstance(prompt, Prompt) or not isinstance(completion, str):
            found = f"Item({type(prompt).__name__}, {type(completion).__name__})"
            raise TypeError(f"{found}: write Item(winnow.Prompt(id, text, answer=...), completion), the last as text")


class Reward(Protocol):
    """Anything that turns completions into verdicts.

    The verdict on an item depends on that item alone, not on the batch around it, and a reward can be
    pickled: so a batch may be split over worker processes. Three attributes are optional: ``may_hang = True`` asks for
    such workers, ``on_timeout`` (``unscorable``, ``zero`` or ``raise``) says what killed scoring is worth, and a method
    ``warm_up`` imports what is slow to import, once per worker and outside every time limit.
    """

    @property
    def name(self) -> str:
        """How the reward is called in logs and errors."""
        ...

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item; the verdicts come in the order of the items."""
        ...


@runtime_checkable
class ChecksGolds(Protocol):
    """A reward that can tell before training whether a gold answer can be judged at all."""

    @property
    def needs_gold(self) -> bool:
        """Whether a prompt without a gold answer is unscorable."""
        ...

    def unreadable(self, answer: str) -> str:
        """Say why no completion could be judged against ``answer``; an empty string if one could."""
        ...


@runtime_checkable
class ChecksColumns(Protocol):
    """A reward that asks for columns of the data by name."""

    def check_columns(self, columns: Sequence[str], has_answers: bool) -> None:
        """Raise `ConfigError` if an argument of the reward is neither built in nor one of ``columns``."""
        ...


@runtime_checkable
class ChecksFields(Protocol):
    """A reward that judges by other columns than the gold, such as tests, and can tell whether a row has them."""

    def unreadable_fields(self, fields: Mapping[str, Any]) -> str:
        """Say why no completion of a row could be judged; an empty string if one could."""
        ...


@runtime_checkable
class Counts(Protocol):
    """A reward that keeps counters for the log, such as ``reward_errors``."""

    def metrics(self) -> dict[str, float]:
        """The counters by name, since the reward was loaded."""
        ...


def binary(correct: bool, reason: str = "") -> Verdict:
    """The verdict of a verifier without partial credit: score and outcome are both 1.0 or 0.0."""
    value = 1.0 if correct else 0.0
    return Verdict(score=value, outcome=value, reason=reason)
