"""The share of groups without signal by group size, with intervals over prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.pilot.prior import Prior, fit, refit
from winnow.pilot.tally import Tally

Floats = npt.NDArray[np.float64]

SIZES = (2, 4, 8, 16, 32)
RESAMPLES, REFITS = 2000, 200
LEVEL = 0.95


@dataclass(frozen=True)
class NoSignal:
    """How many groups of one size would tie.

    Attributes:
        n: rollouts of a group.
        share: expected share of groups whose outcomes are all equal.
        low, high: 95% percentile bootstrap interval over prompts; where all prompts tie, or none does, the bound that
            their number allows. It holds the error of sampling, not that of a wrong model.
        prompts: prompts the estimate rests on.
        modelled: it comes from a fitted prior, not from counting.
    """

    n: int
    share: float
    low: float
    high: float
    prompts: int
    modelled: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def fit_prior(tallies: Sequence[Tally]) -> Prior | None:
    """Fit the pass rates of a pilot; None where a model of passing does not say what ties.

    That is so when outcomes are graded (two failures may differ), and when no prompt has two scorable rollouts.
    """
    if not is_binary(tallies) or max((tally.scorable for tally in tallies), default=0) < 2:
        return None
    cells = Counter((tally.passed, tally.scorable) for tally in tallies if tally.scorable)
    passed, scorable = np.array(list(cells), dtype=np.float64).T
    return fit(passed, scorable, list(cells.values()))


def is_binary(tallies: Sequence[Tally]) -> bool:
    """Whether all outcomes of the pilot are one value for passing and one for failing."""
    values = {outcome for tally in tallies for outcome in tally.outcomes}
    return sum(value >= 1 for value in values) <= 1 and sum(value < 1 for value in values) <= 1


def no_signal(
    tallies: Sequence[Tally], sizes: Sequence[int] = SIZES, prior: Prior | None = None, *, seed: int = 0
) -> list[NoSignal]:
    """Estimate, for each size, the share of groups that would tie.

    Sizes up to the scorable rollouts of a prompt are estimated from the prompts that have as many, without bias if
    whether a rollout can be scored has nothing to do with its outcome. Sizes that less than half of the prompts have,
    and larger ones, come from ``prior``; without one, a size that no prompt has is left out. The prompts are taken as
    a random sample of those the run will draw.

    Args:
        tallies: the prompts of the pilot.
        sizes: rollouts per group, each at least 2.
        prior: `fit_prior` of the same tallies.
        seed: of the resampling.
    """
    kinds = Counter(tally.key() for tally in tallies)
    by_kind = {tally.key(): tally for tally in tallies}
    cells = [by_kind[key] for key in kinds]
    counts = np.array(list(kinds.values()), dtype=np.int64)
    if not len(counts):
        return []
    weights = _resampled(counts, RESAMPLES, seed)
    found = []
    priors: list[Prior] | None = None
    for n in sorted(set(sizes)):
        ties = np.array([cell.ties(n) for cell in cells])
        known = np.isfinite(ties)
        few = 2 * counts[known].sum() < counts.sum()
        if known.any() and not (few and prior is not None):
            found.append(_unbiased(n, np.where(known, ties, 0.0), known, counts, weights))
        elif prior is not None:
            priors = priors or _refits(prior, cells, weights)
            shares = np.array([each.ties(n) for each in priors])
            scorable = sum(int(count) for cell, count in zip(cells, counts, strict=True) if cell.scorable)
            found.append(NoSignal(n, prior.ties(n), *_interval(shares), scorable, True))
    return found


def _resampled(counts: npt.NDArray[np.int64], resamples: int, seed: int) -> Floats:
    """Return (resamples, C) how often each kind of prompt is drawn when prompts are drawn with replacement."""
    total = int(counts.sum())
    return np.random.default_rng(seed).multinomial(total, counts / total, size=resamples).astype(np.float64)


def _unbiased(
    n: int, ties: Floats, known: npt.NDArray[np.bool_], counts: npt.NDArray[np.int64], weights: Floats
) -> NoSignal:
    prompts = int(counts[known].sum())
    drawn = weights @ known
    shares = (weights @ ties)[drawn > 0] / drawn[drawn > 0]
    share = float(counts @ ties) / prompts
    low, high = _interval(shares)
    # Resampling prompts that are all alike shows no spread. If the mean of numbers in [0, 1] is s, all of P are 1 with
    # a chance of at most s^P, and likewise for 0.
    reach = ((1 - LEVEL) / 2) ** (1 / prompts)
    low, high = (min(low, reach) if share == 1 else low), (max(high, 1 - reach) if share == 0 else high)
    return NoSignal(n, share, low, high, prompts, False)


def _refits(prior: Prior, cells: Sequence[Tally], weights: Floats) -> list[Prior]:
    passed = np.array([cell.passed for cell in cells])
    scorable = np.array([cell.scorable for cell in cells])
    # A resample without a scorable prompt has nothing to fit.
    usable = [row for row in weights[:REFITS] if (row[scorable > 0] > 0).any()]
    return [refit(prior, passed, scorable, row) for row in usable]


def _interval(shares: Floats) -> tuple[float, float]:
    low, high = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
