"""AR3PO: a prompt gets further rollouts only while none of them was right."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from winnow.about import About, declare
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.until import Until
from winnow.candidates import Candidates
from winnow.recall import Repo


@dataclass(frozen=True, slots=True)
class Ar3po:
    """Stages of ``size`` rollouts; a prompt leaves at its first success, at the latest with n (AR3PO, 2509.25808).

    The paper's S is ``n / size`` (the last stage is cut to fit n), its k is ``size``; both values are ours, the source
    we could read does not give them. All rollouts of a prompt are its group.

    The recipe ``ar3po`` adds the newest right rollout of an earlier step to the group of a prompt that stayed unsolved
    (`winnow.recall.Repo`); the paper swaps it for a wrong one and has two ways of weighing it, of which this is the one
    that keeps the probabilities it was drawn with. ``recall=None`` leaves it out.

    ``n`` is the most per prompt, so the default budget is never short; what is left over is named in the step's
    reason. A shorter budget is shared out evenly in each stage, see `Until`; under a token budget stages go on until
    the tokens are spent or every prompt is done. A prompt that is always right leaves with ``size`` equal rollouts.

    Known bias: the draw stops at a success. With the defaults, leave-one-out advantages and groups of equal weight, the
    expected gradient at p = 0.5 is 0.262 instead of 0.25, at p = 0.1 it is 0.121 instead of 0.09 (enumerated in the
    tests).

    Attributes:
        n: the most rollouts of one prompt.
        size: rollouts per prompt and stage.
        barrier: wait for whole stages; False lets each prompt go on by itself.

    Raises:
        ConfigError: if a setting is out of range.
    """

    n: int = 8
    size: int = 4
    barrier: bool = True

    def __post_init__(self) -> None:
        check_count("Ar3po", "n", self.n, 1)
        check_count("Ar3po", "size", self.size, 1)

    @property
    def positives(self) -> int:
        """One success is enough."""
        return 1

    @property
    def negatives(self) -> int:
        """Failures are not asked for."""
        return 0

    @property
    def largest(self) -> int:
        """A prompt that is never solved gets n."""
        return self.n

    def with_n(self, n: int) -> Ar3po:
        """Return the rule with another n."""
        return replace(self, n=n)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return Until(self, len(prompts))


RULES["ar3po"] = Ar3po
REUSE = Repo(1, start=1, strategy="success", mixing="mixed", when="no_success", joint=True)
declare(
    "ar3po",
    About(
        paper="AR3PO, arXiv 2509.25808",
        idea="stages of rollouts; a prompt leaves at its first right answer; one unsolved trains on an earlier one",
        saves="rollouts on prompts that are solved soon",
        costs="stages in sequence; small groups where prompts are easy, so more of them without signal",
        bias="stops at a success: right answers are over-represented in small groups",
        status="decision",
    ),
    lambda: {"allocation": Ar3po(), "recall": replace(REUSE)},
)
