"""Whether a result is the expected one; the only place that knows what was expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_SETS = (set, frozenset)
_NUMBERS = (int, float, complex)
_LONGEST = 80


@dataclass(frozen=True)
class Rules:
    """How strict to be.

    Attributes:
        tolerance: largest difference from an expected float that counts as equal, absolute for magnitudes up
            to 1 and relative above. Expected integers are matched exactly.
        loose_sequences: whether an expected list also matches a tuple, as it must where the tests are JSON and
            cannot say which was meant. An expected tuple never matches a list.
    """

    tolerance: float = 1e-6
    loose_sequences: bool = True


def equal(expected: Any, got: Any, rules: Rules) -> bool:
    """Tell whether ``got`` is the expected value.

    Both are plain data, so that no code of a candidate's takes part. A boolean equals no number and None only
    itself. Numbers are compared by value: 1 equals 1.0, as for Python. NaN matches NaN. Order counts in
    lists and tuples, not in dictionaries and sets, whose members and keys have to be exact: the tolerance does not
    apply to them. Linear in the size of the value.
    """
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return expected is got
    if isinstance(expected, _NUMBERS):
        return isinstance(got, _NUMBERS) and _close(expected, got, rules.tolerance)
    if isinstance(expected, list | tuple):
        allowed = (list, tuple) if isinstance(expected, list) and rules.loose_sequences else (type(expected),)
        return (
            isinstance(got, allowed)
            and len(expected) == len(got)
            and all(equal(a, b, rules) for a, b in zip(expected, got, strict=True))
        )
    if isinstance(expected, _SETS):
        return isinstance(got, _SETS) and set(map(_key, expected)) == set(map(_key, got))
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return False
        wanted, found = ({_key(key): value for key, value in items.items()} for items in (expected, got))
        return wanted.keys() == found.keys() and all(equal(value, found[key], rules) for key, value in wanted.items())
    return type(expected) is type(got) and bool(expected == got)


def same_text(expected: str, got: str) -> bool:
    """Tell whether two outputs have the same words on the same lines; blank lines at the end do not count."""
    return _lines(expected) == _lines(got)


def show(value: Any) -> str:
    """Return a value in short, for a reason."""
    try:
        text = repr(value)
    except ValueError:
        text = "a very large integer"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _close(expected: Any, got: Any, tolerance: float) -> bool:
    if expected == got:
        return True
    if isinstance(expected, int):
        return False
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(got, float) and math.isnan(got)
    try:
        gap, size = abs(got - expected), abs(expected)
        return math.isfinite(size) and bool(gap <= tolerance * max(1.0, size))
    except OverflowError:
        # A number beyond the range of floats is near no expected float.
        return False


def _key(item: Any) -> Any:
    # True and 1 are one key to Python and two to us; two NaN are two keys to Python and one to us.
    if isinstance(item, tuple):
        return tuple, tuple(map(_key, item))
    if isinstance(item, frozenset):
        return frozenset, frozenset(map(_key, item))
    if isinstance(item, float) and math.isnan(item):
        return float, "nan"
    return isinstance(item, bool), item


def _lines(text: str) -> list[list[str]]:
    lines = [line.split() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines
