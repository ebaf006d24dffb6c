"""One seed for a run, and independent seeds derived from it for every use and step."""

from __future__ import annotations

from typing import Literal

import numpy as np

_USES = ("order", "decide", "sample", "minibatches", "global")
Use = Literal["order", "decide", "sample", "minibatches", "global"]


def derive(seed: int, use: Use, step: int = 0) -> int:
    """Return the 63-bit seed of one use at one step.

    Nothing is carried from step to step, so a step drawn again after a resume is the same step.

    Args:
        seed: the seed of the run.
        use: ``order`` of prompts, ``decide`` (allocation, ties), ``sample`` (tokens), ``minibatches``, or
            ``global`` (generators that dropout and reward functions may use).
        step: number of the step.
    """
    words = np.random.SeedSequence([seed, _USES.index(use), step]).generate_state(2, np.uint32)
    return int(words[0]) << 31 ^ int(words[1])
