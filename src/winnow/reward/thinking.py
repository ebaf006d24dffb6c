"""The format reward: one closed block of thoughts, and an answer after it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from winnow import errors
from winnow.reward.base import Item
from winnow.rollout import Verdict

_TAG = re.compile(r"[A-Za-z][\w-]*")


def thinks(prompt: str, completion: str, tag: str = "think") -> str:
    """Say what is wrong with the form of a completion; an empty string if nothing is.

    Right is one block ``<think>...</think>`` that holds text and is followed by text, with nothing before it.
    Chat templates may end the prompt with the opening tag: then the completion starts inside of the block.
    """
    opening, closing = f"<{tag}>", f"</{tag}>"
    text = completion
    if prompt.rstrip().endswith(opening) and not completion.lstrip().startswith(opening):
        text = opening + completion
    if text.count(opening) != 1 or text.count(closing) != 1:
        return f"{text.count(opening)} {opening} and {text.count(closing)} {closing}, expected one of each"
    before, _, rest = text.partition(opening)
    thoughts, closed, after = rest.partition(closing)
    if not closed:
        return f"{closing} stands before {opening}"
    if before.strip():
        return f"there is text before {opening}"
    if not thoughts.strip():
        return "the thoughts are empty"
    return "" if after.strip() else "there is no answer after the thoughts"


@dataclass(frozen=True)
class Thinking:
    """Reward 1.0 for one closed block of thoughts before the answer, else 0.0; see `thinks`.

    It says nothing about the answer, so it has no outcome: signal is judged by the verifier beside it.

    Args:
        tag: the name between the angle brackets.

    Raises:
        ConfigError: if ``tag`` is no name.
    """

    tag: str = "think"

    def __post_init__(self) -> None:
        if not _TAG.fullmatch(self.tag):
            raise errors.ConfigError(f"tag is {self.tag!r}; it must be a name such as 'think', without angle brackets")

    @property
    def name(self) -> str:
        """``think``."""
        return "think"

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge the form of every item; the reason says what is wrong with it."""
        return [self._judge(item) for item in items]

    def _judge(self, item: Item) -> Verdict:
        problem = thinks(item.prompt.text, item.completion, self.tag)
        return Verdict(score=0.0 if problem else 1.0, reason=problem)
