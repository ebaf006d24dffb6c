"""The task record: what is learned, what it is tested on, and who judges."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from winnow.reward.base import Reward
from winnow.rollout import Prompt


@dataclass(frozen=True)
class Task:
    """Prompts to train on, prompts held out, and the reward.

    Attributes:
        name: how the task was asked for.
        train: the prompts of the curriculum.
        test: held-out prompts for evaluation; empty if there are none.
        reward: judges completions of both.
        fingerprint: see `fingerprint`; a resumed run must have the same.
        notes: what the user should know before training (columns chosen, rows dropped, golds in conflict).
        policy: folder of a pretrained policy shipped for this task, or None.
    """

    name: str
    train: Sequence[Prompt]
    test: Sequence[Prompt]
    reward: Reward
    fingerprint: str
    notes: tuple[str, ...] = ()
    policy: str | None = None


def fingerprint(train: Iterable[Prompt], test: Iterable[Prompt]) -> str:
    """SHA-256 in hexadecimal over split, id, content and answer of every prompt, in order."""
    digest = hashlib.sha256()
    encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
    for split, prompts in (("train", train), ("test", test)):
        for prompt in prompts:
            content = prompt.content if isinstance(prompt.content, str) else [dict(m) for m in prompt.content]
            row = encode([split, prompt.id, content, prompt.answer])
            digest.update(row.encode("utf-8", "surrogatepass"))
            digest.update(b"\n")
    return digest.hexdigest()
