"""Whether the best of several replays is worth a change, or whether the log cannot tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from winnow.replay.advise import BREADTH, BROAD, Option
from winnow.replay.estimate import Figure

WORTH = 1.1
"""A change below a tenth is not worth the trouble."""
FEW_TIES = 0.1
MANY = 20
"""Times the log above which asking for a longer one is no advice."""


def verdict(found: Sequence[Option], by: str, tried: int) -> dict[str, Any] | None:
    """Say which option is best by a figure, and whether it is worth a change; None without one to compare with.

    An option is better when the lower end of the interval of its quotient to the baseline is above 1 and the quotient
    is `WORTH` or more. The best of many looks better than it is, so the interval is widened as for all that were
    ``tried`` (Bonferroni). The answer is ``yes`` for the best of those that have at least `BROAD` times the groups with
    signal of the baseline at the same cost; ``perhaps`` where only options are better that teach with fewer prompts,
    which effective rows do not count against them; ``undecided`` where none is better but the interval of one reaches
    `WORTH`, so that a gain worth a change is as possible as none; else ``no``.

    Returns:
        ``answer``, ``best`` and ``base`` as plain values, ``options`` best first, ``by``, and ``text``.
    """
    base = next((option for option in found if option.base), None)
    if base is None:
        return None
    ranked = sorted(found, key=lambda option: -option.found.figures[by].value)
    ratios = {id(option): _widened(option.found.ratio(base.found, by), tried - 1) for option in ranked}
    better = [each for each in ranked if ratios[id(each)].value >= WORTH and ratios[id(each)].low > 1]
    broad = [each for each in better if each.found.ratio(base.found, BREADTH[by]).value >= BROAD]
    unsure = [each for each in ranked if each is not base and ratios[id(each)].high >= WORTH]
    best = (broad or better or unsure or ranked)[0]
    answer = "yes" if broad else "perhaps" if better else "undecided" if unsure else "no"
    return {
        "by": by,
        "answer": answer,
        "base": base.as_dict(base, by),
        "best": {**best.as_dict(base, by), "ratio": ratios[id(best)].as_dict()},
        "options": [option.as_dict(base, by) for option in ranked],
        "text": _text(best, base, ratios[id(best)], answer, by, tried),
    }


def _widened(ratio: Figure, comparisons: int) -> Figure:
    from scipy.stats import norm

    factor = float(norm.ppf(1 - 0.025 / max(1, comparisons)) / norm.ppf(0.975))
    half = (ratio.high - ratio.value) * factor
    return replace(ratio, low=max(0.0, ratio.value - half), high=ratio.value + half)


def _text(best: Option, base: Option, ratio: Figure, answer: str, by: str, tried: int) -> str:
    what = "effective rows per second" if by == "per_second" else "effective rows per 1,000 rollouts"
    widened = f", widened for the {tried} options tried" if tried > 2 else ""
    has = (
        f"{best.title} with {best.prompts} prompts per step has {ratio.value:.2f} times ({ratio.low:.2f} to "
        f"{ratio.high:.2f}{widened}) the {what} of {base.title} with {base.prompts}"
    )
    breadth = best.found.ratio(base.found, BREADTH[by]).value
    ties = base.found.figures["no_signal"].value
    if answer == "yes":
        return f"Yes: {has}, and {breadth:.2f} times the groups with signal."
    if answer == "perhaps":
        return (
            f"Perhaps: {has}, but from {breadth:.2f} times the groups with signal. Whether depth makes up for breadth "
            "no log can tell: winnow compare can."
        )
    if answer == "undecided":
        return (
            f"Undecided: {has}. The interval reaches {WORTH}, so this log cannot tell whether a change is worth it. "
            f"{_missing(ratio)}."
        )
    why = f"; only {ties:.0%} of its groups tie, so there is little to win" if ties < FEW_TIES else ""
    if best is base:
        return (
            f"No: nothing tried has more {what} than {base.title} with {base.prompts} prompts per step, to within a "
            f"tenth{widened.replace(', ', ' (intervals ')}{')' * bool(widened)}{why}."
        )
    return f"No: at best, {has}: no difference worth a change{why}."


def _missing(ratio: Figure) -> str:
    """Say what log would decide: intervals narrow with the root of the prompts."""
    gap = ratio.value - 1 if ratio.value >= WORTH else WORTH - ratio.value
    times = math.ceil(((ratio.high - ratio.value) / gap) ** 2 + 0.1) if gap > 0 else MANY + 1
    much = f"About {times} times as many" if times <= MANY else "Many more"
    return f"{much} prompts in the log would decide it if the quotient stays; more rollouts of each help as well"
