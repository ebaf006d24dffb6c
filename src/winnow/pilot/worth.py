"""Which prompts are worth keeping: those whose group is likely to have signal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from winnow.pilot.prior import Prior
from winnow.pilot.tally import Tally

THRESHOLD = 0.5
"""More likely than not."""


@dataclass(frozen=True)
class Worth:
    """What each prompt of a pilot promises.

    Attributes:
        n: rollouts of the planned group.
        threshold: a prompt is kept from this chance on.
        chances: (P,) the probability that a new group of n has outcomes that differ; NaN where nothing is known,
            since no rollout could be scored.
        modelled: the chances are posteriors under the fitted prior; else they are shares of the subsets that the
            pilot drew.
    """

    n: int
    threshold: float
    chances: Sequence[float]
    modelled: bool

    @property
    def kept(self) -> list[bool]:
        """For each prompt, whether it is worth keeping."""
        return [chance >= self.threshold for chance in self.chances]

    @property
    def rule(self) -> str:
        """The rule in words."""
        how = "posterior probability" if self.modelled else "share of subsets of the pilot's rollouts"
        return f"kept when the {how} of a group of {self.n} with signal is at least {self.threshold:g}"


def worth(tallies: Sequence[Tally], n: int, prior: Prior | None, threshold: float = THRESHOLD) -> Worth:
    """Judge every prompt.

    With a prior, a prompt that failed every time keeps a chance: k failures are evidence, not proof. The update to a
    posterior uses the prompt's own rollouts; the prior carries what the other prompts say (empirical Bayes).

    Args:
        tallies: the prompts.
        n: rollouts of the planned group, at least 2.
        prior: see `winnow.pilot.estimate.fit_prior`. Without one, subsets of ``min(n, scorable)`` rollouts are
            counted, which understates larger groups.
        threshold: see `Worth`.
    """
    if prior is None:
        return Worth(n, threshold, [_counted(tally, n) for tally in tallies], False)
    known: dict[tuple[int, int], float] = {}
    chances = []
    for tally in tallies:
        cell = (tally.passed, tally.scorable)
        if cell not in known:
            known[cell] = 1.0 - prior.posterior(*cell).ties(n) if tally.scorable else math.nan
        chances.append(known[cell])
    return Worth(n, threshold, chances, True)


def _counted(tally: Tally, n: int) -> float:
    size = min(n, tally.scorable)
    return 1.0 - tally.ties(size) if size else math.nan
