"""The records that travel through a step: a prompt, a rollout, and the verdict on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Message = Mapping[str, str]
Content = str | Sequence[Message]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One row of a task.

    Attributes:
        id: name of the row, stable across runs (``"train:17"``); two rows with the same text stay two prompts.
        content: plain text, or a list of ``{"role", "content"}`` messages for the chat template.
        answer: the gold answer as text, or None where only a scorer can judge.
        fields: every other column of the row; reward functions may ask for them by name.
    """

    id: str
    content: Content
    answer: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The prompt as plain text (messages joined by new lines), for logs and reward functions."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(message["content"] for message in self.content)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reward says about one completion.

    Attributes:
        score: the reward to optimise; None means unscorable (left out of every statistic, never 0).
        outcome: the verifier's own verdict, on which signal is judged; None where there is none.
        reason: why it is unscorable, or a note for the log.
        parts: the components of ``score`` by name.
    """

    score: float | None
    outcome: float | None = None
    reason: str = ""
    parts: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(slots=True)
class Rollout:
    """One sampled completion.

    Attributes:
        prompt: index of its prompt in the step.
        draw: 0, 1, 2, ... among the rollouts of its prompt.
        ids: the sampled token ids, int64 (T,), with the end-of-sequence id when it was sampled.
        logprobs: log-probability of each id under the distribution it was sampled from, float32 (T,).
        finish: ``"stop"`` when the end-of-sequence id was sampled, ``"length"`` when the limit cut it.
        text: ``ids`` decoded without special tokens; never encoded again.
        verdict: what the reward said, None until scored.
        prefix: ids int64 of other rollouts that this one continues, between the prompt and ``ids``; None for one that
            begins at the prompt. ``text`` then is that of both.
    """

    prompt: int
    draw: int
    ids: npt.NDArray[np.int64]
    logprobs: npt.NDArray[np.float32]
    finish: Literal["stop", "length"]
    text: str
    verdict: Verdict | None = None
    prefix: npt.NDArray[np.int64] | None = None
