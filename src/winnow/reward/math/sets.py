r"""Sets of real numbers out of readings: unions, differences, set-builder notation, intervals."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace

from winnow.reward.math.parts import cut
from winnow.reward.math.parts import relations as split_relations
from winnow.reward.math.readings import Assignment, Group, Reading
from winnow.reward.math.regions import Interval, Region, bound, complement, intersection, union
from winnow.reward.math.tree import Unreadable
from winnow.reward.math.value import Value

# Reads an inner text, one level deeper.
Again = Callable[[str], Reading]

_BUILDER = re.compile(r"\(?([A-Za-z])(?: ?\\in ?\\mathbb\{R\})?\)? ?(?:\||:) ?(.+)")


def set_operation(text: str, again: Again) -> Reading | None:
    r"""Unions, intersections and differences, cut at the outer ``\cup``, ``\cap`` or ``\setminus``."""
    for sign, combine in (("\\cup", _all), ("\\cap", _common), ("\\setminus", _without)):
        pieces = cut(text, sign)
        if len(pieces) > 1:
            return combine([again(piece) for piece in pieces])
    return None


def condition(inner: str) -> str | None:
    """The condition of ``x | condition`` inside braces, or None."""
    match = _BUILDER.fullmatch(inner)
    return match[2] if match and split_relations(match[2])[1] else None


def as_region(reading: Reading) -> Region:
    """See a reading as a set of real numbers: ``(2,3)`` is a point or an interval, as the other side says.

    Raises:
        Unreadable: if it cannot be one.
    """
    if isinstance(reading, Region):
        return reading
    if isinstance(reading, Assignment):
        return replace(as_region(reading.reading), name=reading.name)
    if isinstance(reading, Group) and reading.brackets == "{}":
        points = [bound(member.tree) for member in reading.members if isinstance(member, Value)]
        if len(points) == len(reading.members):
            return union(Interval(point, point, False, False) for point in points)
    if isinstance(reading, Group) and reading.ordered and len(reading.members) == 2:
        low, high = reading.members
        if isinstance(low, Value) and isinstance(high, Value):
            low_open, high_open = reading.brackets[0] == "(", reading.brackets[1] == ")"
            ends = bound(low.tree), bound(high.tree)
            if (ends[0].infinite and not low_open) or (ends[1].infinite and not high_open):
                raise Unreadable("an infinite end is never closed")
            return union([Interval(*ends, low_open, high_open)])
    raise Unreadable("it is no set of real numbers")


def _all(found: list[Reading]) -> Reading:
    groups = [reading for reading in found if isinstance(reading, Group) and reading.brackets == "{}"]
    if len(groups) == len(found):
        return Group("{}", tuple(member for group in groups for member in group.members))
    return union(interval for reading in found for interval in as_region(reading).intervals)


def _common(found: list[Reading]) -> Reading:
    return functools.reduce(intersection, map(as_region, found))


def _without(found: list[Reading]) -> Reading:
    first, *others = [as_region(reading) for reading in found]
    return functools.reduce(lambda a, b: intersection(a, complement(b)), others, first)
