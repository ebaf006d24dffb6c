"""Tallies made by hand or drawn from known pass rates."""

from __future__ import annotations

import numpy as np

from winnow.pilot import Tally


def tally(name: str, *outcomes: float | None) -> Tally:
    made = Tally(name)
    for outcome in outcomes:
        made.add(outcome, tokens=3, truncated=False, reason="" if outcome is not None else "no verdict")
    return made


def drawn(rates: np.ndarray, k: int, seed: int = 0) -> list[Tally]:
    """One prompt per pass rate, with k rollouts."""
    passed = np.random.default_rng(seed).binomial(k, rates)
    return [tally(f"train:{i}", *[1.0] * count, *[0.0] * (k - count)) for i, count in enumerate(passed)]
