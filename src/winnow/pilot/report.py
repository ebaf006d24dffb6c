"""What a pilot says, as numbers and in plain words; every word rests on a number computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from winnow.pilot.advice import advice
from winnow.pilot.estimate import SIZES, fit_prior, is_binary, no_signal
from winnow.pilot.prior import Prior
from winnow.pilot.run import Pilot
from winnow.pilot.tally import Tally
from winnow.pilot.worth import THRESHOLD, Worth, worth

BINS = 10
SHOWN_REASONS = 10


def report(pilot: Pilot, *, threshold: float = THRESHOLD, seed: int = 0) -> tuple[dict[str, Any], Worth]:
    """Work out what a pilot says.

    Args:
        pilot: what was measured, at least one scorable rollout.
        threshold: see `Worth`.
        seed: of the bootstrap.

    Returns:
        Plain values for JSON (counts; ``pass_rates``; ``no_signal``, one entry per size; ``keep``; ``model_fit``, the
        fitted prior; ``advice``, sentences), and the verdict on every prompt.
    """
    tallies = pilot.tallies
    prior = fit_prior(tallies)
    sizes = sorted({*SIZES, pilot.n, pilot.k})
    estimates = no_signal(tallies, sizes, prior, seed=seed)
    judged = worth(tallies, pilot.n, prior, threshold)
    facts: dict[str, Any] = {
        "task": pilot.task,
        "model": pilot.model,
        "reward": pilot.reward,
        "folder": None if pilot.folder is None else str(pilot.folder),
        "k": pilot.k,
        "n": pilot.n,
        "prompts": len(tallies),
        "asked": pilot.asked,
        "available": pilot.available,
        "complete": pilot.complete,
        **volume(pilot),
        "binary": is_binary(tallies),
        "pass_rate": pass_rate(tallies),
        "pass_rates": pass_rates(tallies),
        "groups": groups(tallies),
        "no_signal": [estimate.as_dict() for estimate in estimates],
        "model_fit": None if prior is None else _fit(prior, pilot.k, tallies),
        "all_fail": None if prior is None else _all_fail(prior, pilot),
        "keep": _keep(judged, tallies),
    }
    return {**facts, "advice": advice(facts)}, judged


def volume(pilot: Pilot) -> dict[str, Any]:
    """Return counts of rollouts and tokens, lengths, and the speed of this call (None where nothing was drawn)."""
    tallies = pilot.tallies
    drawn = sum(tally.drawn for tally in tallies)
    tokens = sum(tally.tokens for tally in tallies)
    reasons: Counter[str] = Counter()
    for tally in tallies:
        reasons.update(tally.reasons)
    return {
        "rollouts": drawn,
        "tokens": tokens,
        "length_mean": tokens / drawn,
        "length_max": max(tally.longest for tally in tallies),
        "truncated": sum(tally.truncated for tally in tallies) / drawn,
        "max_new_tokens": pilot.max_new_tokens,
        "unscorable": reasons.total() / drawn,
        "reasons": dict(reasons.most_common(SHOWN_REASONS)),
        "rollouts_drawn_now": pilot.drawn,
        "seconds": pilot.seconds,
        "rollouts_per_second": pilot.drawn / pilot.seconds if pilot.drawn and pilot.seconds else None,
    }


def pass_rate(tallies: Sequence[Tally]) -> float | None:
    """Return the share of scorable rollouts that passed; None when there are none."""
    scorable = sum(tally.scorable for tally in tallies)
    return sum(tally.passed for tally in tallies) / scorable if scorable else None


def pass_rates(tallies: Sequence[Tally]) -> dict[str, int]:
    """Return how many prompts have which pass rate: none, all, and `BINS` steps of equal width in between.

    A rate on a border belongs to the step above. Prompts without a scorable rollout are in none.
    """
    rates = np.array([tally.passed / tally.scorable for tally in tallies if tally.scorable])
    between = rates[(rates > 0) & (rates < 1)]
    counts, edges = np.histogram(between, bins=BINS, range=(0.0, 1.0))
    steps = {f"{low:.1f} to {high:.1f}": int(count) for low, high, count in zip(edges, edges[1:], counts, strict=False)}
    return {"none": int((rates == 0).sum()), **steps, "all": int((rates == 1).sum())}


def groups(tallies: Sequence[Tally]) -> dict[str, int]:
    """Count prompts that all fail, all pass, tie elsewhere (graded outcomes), differ, or cannot be scored at all."""
    found = dict.fromkeys(("all_fail", "all_pass", "other_tie", "mixed", "unscorable"), 0)
    for tally in tallies:
        found[_kind(tally)] += 1
    return found


def _kind(tally: Tally) -> str:
    if not tally.scorable:
        return "unscorable"
    if tally.mixed:
        return "mixed"
    if tally.passed:
        return "all_pass"
    return "all_fail" if next(iter(tally.outcomes)) <= 0 else "other_tie"


def _fit(prior: Prior, k: int, tallies: Sequence[Tally]) -> dict[str, Any]:
    """Hold the model against the unbiased estimates where both exist."""
    known = no_signal(tallies, list(range(2, k + 1)), None)
    gaps = [abs(prior.ties(estimate.n) - estimate.share) for estimate in known]
    return {**prior.as_dict(), "mean": prior.mean, "largest_gap_up_to_k": max(gaps, default=None)}


def _all_fail(prior: Prior, pilot: Pilot) -> dict[str, float]:
    """Return what k failures of k leave open: the posterior of such a prompt."""
    after = prior.posterior(0, pilot.k)
    return {"pass_rate": after.mean, "above_1_percent": after.above(0.01), "signal_at_n": 1.0 - after.ties(pilot.n)}


def _keep(judged: Worth, tallies: Sequence[Tally]) -> dict[str, Any]:
    kept = judged.kept
    of_kept = [chance for chance, keep in zip(judged.chances, kept, strict=True) if keep]
    dropped = Counter(_kind(tally) for tally, keep in zip(tallies, kept, strict=True) if not keep)
    return {
        "rule": judged.rule,
        "threshold": judged.threshold,
        "kept": len(of_kept),
        "dropped": dict(dropped),
        "no_signal_kept": 1.0 - float(np.mean(of_kept)) if of_kept else None,
        "modelled": judged.modelled,
    }
