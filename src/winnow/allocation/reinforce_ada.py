"""Reinforce-Ada: draw until a prompt has enough right and wrong answers, then train on a few of both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from winnow.about import About, declare
from winnow.advantage import Advantage
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.until import Until, check_wanted
from winnow.candidates import Candidates
from winnow.objective.config import Objective
from winnow.selection import Select
from winnow.selection.balanced import balanced


@dataclass(frozen=True, slots=True)
class ReinforceAda:
    """Rounds of ``size`` rollouts per prompt until it has enough successes and failures (Reinforce-Ada, 2510.04996).

    The paper's M is ``size``, its N is ``n / size`` (the last round is cut to fit n). A whole round is counted before
    the exit test ``#successes >= positives and #failures >= negatives``: 1 and 0 in its variant *pos*, half of the
    rows that train each in *balanced*. Pair it with ``selection="balanced"`` and ``stats="full"``, as the recipes
    ``reinforce-ada-pos`` and ``reinforce-ada-balanced`` do: the baseline is then the mean over all rollouts drawn, of
    which few train.

    The paper calls rewards above 0.7 positive, here outcomes above 0.5 are: the same for 0/1 verdicts. Its baseline is
    rebuilt from 1/0 labels; here it is the mean of the rewards themselves, so shaped rewards keep theirs.

    Cost: a prompt that is never solved takes n rollouts, one that always is ``size`` (pos) or n (balanced). ``n`` is
    the most per prompt, so the default budget is never short; what is left over is named in the step's reason. A
    shorter budget is shared out evenly in each round, see `Until`. Under a token budget rounds go on until the tokens
    are spent or every prompt is done.

    Known bias: which rollouts are drawn depends on their outcomes, so the mean over them is no unbiased baseline. With
    the defaults and p = 0.05, 0.1, 0.3, 0.5 its expectation is 0.078, 0.130, 0.309, 0.501 in *pos* and 0.066, 0.132,
    0.328, 0.500 in *balanced*, which 1 - p mirrors. Rare outcomes are over-represented among the rows that train: the
    expected gradient at p = 0.1 is 0.252 (pos) and 0.355 (balanced) where p (1 - p) is 0.09, at p = 0.5 it is 0.243
    and 0.25 (enumerated in the tests).

    Attributes:
        n: the most rollouts of one prompt.
        size: rollouts per prompt and round.
        positives: successes that a prompt needs.
        negatives: failures that a prompt needs.
        barrier: wait for whole rounds, as the paper does; False lets each prompt go on by itself.

    Raises:
        ConfigError: if a setting is out of range.
    """

    n: int = 32
    size: int = 8
    positives: int = 2
    negatives: int = 2
    barrier: bool = True

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("size", 1), ("positives", 0), ("negatives", 0)):
            check_count("ReinforceAda", name, getattr(self, name), least)
        check_wanted("ReinforceAda", self.n, self.positives, self.negatives)

    @property
    def largest(self) -> int:
        """A prompt that never has enough gets n."""
        return self.n

    def with_n(self, n: int) -> ReinforceAda:
        """Return the rule with another n."""
        return replace(self, n=n)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return Until(self, len(prompts))


RULES["reinforce_ada"] = ReinforceAda
for _name, _positives, _negatives, _until, _costs in (
    ("pos", 1, 0, "a right answer has come", "up to n rollouts for a prompt that is never solved"),
    ("balanced", 2, 2, "two right and two wrong answers have come", "up to n rollouts for each easy or hard prompt"),
):
    declare(
        f"reinforce-ada-{_name}",
        About(
            paper="Reinforce-Ada, arXiv 2510.04996",
            idea=f"draw rounds of 8 until {_until}; train on 4, half of them right if possible",
            saves="steps: prompts come to signal that a small group would have missed",
            costs=_costs,
            bias="stops by outcome, so the baseline is biased; rare outcomes are over-represented",
        ),
        lambda positives=_positives, negatives=_negatives: {  # type: ignore[misc]
            "allocation": ReinforceAda(positives=positives, negatives=negatives),
            "selection": Select(balanced, 4),
            "advantage": Advantage("centred"),
            "stats": "full",
            "objective": Objective(clip_high=0.28),
        },
    )
