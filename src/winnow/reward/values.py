"""What a reward function may return, and what each value means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from winnow import errors
from winnow.rollout import Verdict

LARGEST = 1e150
"""Scores beyond it have squares that overflow, and no statistics."""


def as_list(returned: Any, expected: int, name: str) -> list[Any]:
    """Take what a batch function returned apart, one value per completion.

    Lists, tuples, one-dimensional arrays and tensors are accepted. Nothing is broadcast: a single value for
    every rollout would erase the signal without a word.

    Raises:
        RewardError: if it is no sequence or its length differs from ``expected``.
    """
    is_sequence = isinstance(returned, (list, tuple)) or len(getattr(returned, "shape", ())) == 1
    if not is_sequence:
        raise errors.RewardError(
            f"reward function {name}: expected a list of {expected} scores, got {type(returned).__name__}"
        )
    if len(returned) != expected:
        raise errors.RewardError(
            f"reward function {name}: expected {expected} scores, one per completion, got {len(returned)}"
        )
    return list(returned)


def to_verdict(value: Any, where: str, warn: Callable[[str], None]) -> Verdict:
    """Turn one returned value into a verdict.

    Args:
        value: a number (also a boolean, a numpy scalar, a tensor without dimensions), None for
            unscorable, a mapping with ``score`` and optionally ``outcome``, ``reason`` and named parts, or a
            `Verdict`. NaN is unscorable too, with a warning.
        where: names function, prompt and rollout, for errors.
        warn: called with a message for NaN.

    Raises:
        RewardError: for infinity, magnitudes above `LARGEST`, text and every other type. These are bugs of the
            function, not of one completion, so no error policy hides them.
    """
    if isinstance(value, Verdict):
        value = {**value.parts, "score": value.score, "outcome": value.outcome, "reason": value.reason}
    if not isinstance(value, Mapping):
        score = _number(value, where, warn)
        return Verdict(score=score, reason="" if score is not None else _why_unscorable(value))
    if "score" not in value:
        raise errors.RewardError(f"{where}: a mapping needs the key 'score', found {', '.join(map(str, value))}")
    score = _number(value["score"], where, warn)
    parts = {
        str(key): _number(part, f"{where}, part {key!r}", warn)
        for key, part in value.items()
        if key not in ("score", "outcome", "reason")
    }
    reason = str(value.get("reason") or "")
    if score is None and not reason:
        reason = _why_unscorable(value["score"])
    return Verdict(score, _number(value.get("outcome"), f"{where}, outcome", warn), reason, parts)


def _number(value: Any, where: str, warn: Callable[[str], None]) -> float | None:
    if value is None:
        return None
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape) == 0 and not isinstance(value, Real):
        value = value.item()
    if not isinstance(value, (Real, Decimal)):
        raise errors.RewardError(f"{where}: expected a number or None, got {type(value).__name__} {_short(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise errors.RewardError(
            f"{where}: got {_short(value)}, and a score must be finite; return None for unscorable"
        )
    if abs(number) > LARGEST:
        raise errors.RewardError(f"{where}: got {_short(value)}; a score must lie within {LARGEST:g} of 0")
    if math.isnan(number):
        warn(f"{where}: got NaN, taken as unscorable; return None to say so on purpose")
        return None
    return number


def _why_unscorable(value: Any) -> str:
    return "the reward function returned None" if value is None else "the reward function returned NaN"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
