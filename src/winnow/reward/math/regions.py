"""Sets of real numbers: unions of intervals, from interval notation and from inequalities in one variable."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from winnow.reward.math.exact import TooLarge, Undefined
from winnow.reward.math.tree import Node, Unreadable, constant, negative
from winnow.reward.math.value import rational_value


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of an interval: a real number, or an infinity (``infinite`` is -1 or 1)."""

    tree: Node
    infinite: int = 0
    fraction: Fraction | None = None

    def same(self, other: Bound) -> bool:
        """Tell whether two bounds are the same number."""
        if self.infinite or other.infinite:
            return self.infinite == other.infinite
        if self.fraction is not None and other.fraction is not None:
            return self.fraction == other.fraction
        from winnow.reward.math.identity import same_value

        return same_value(self.tree, other.tree)

    def below(self, other: Bound) -> bool:
        """Tell whether this bound is less than another."""
        if self.same(other):
            return False
        if self.infinite or other.infinite:
            return self.infinite < other.infinite
        if self.fraction is not None and other.fraction is not None:
            return self.fraction < other.fraction
        from winnow.reward.math.numeric import evaluate

        return bool(evaluate(self.tree).value.real < evaluate(other.tree).value.real)


def bound(tree: Node) -> Bound:
    """Read an expression as an end of an interval.

    Raises:
        Unreadable: if it is no real number.
    """
    if tree.op == "constant" and tree.name == "infinity":
        return Bound(tree, 1)
    if tree.op == "*" and len(tree.args) == 2 and tree.args[1].name == "infinity" and tree.args[0].value == -1:
        return Bound(tree, -1)
    fraction = rational_value(tree)
    if fraction is None:
        from winnow.reward.math.numeric import evaluate

        if tree.symbols():
            raise Unreadable("an end of the interval is a variable")
        try:
            if not evaluate(tree).real:
                raise Unreadable("an end of the interval is not real")
        except (TooLarge, Undefined) as error:
            raise Unreadable(str(error)) from error
    return Bound(tree, 0, fraction)


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between two bounds."""

    low: Bound
    high: Bound
    low_open: bool = True
    high_open: bool = True

    @property
    def empty(self) -> bool:
        """Whether no number lies between the bounds."""
        if self.low.same(self.high):
            return self.low_open or self.high_open
        return self.high.below(self.low)

    def same(self, other: Interval) -> bool:
        """Tell whether two intervals have the same ends."""
        return (
            self.low.same(other.low)
            and self.high.same(other.high)
            and (self.low_open == other.low_open or bool(self.low.infinite))
            and (self.high_open == other.high_open or bool(self.high.infinite))
        )


@dataclass(frozen=True, slots=True)
class Region:
    """A union of disjoint intervals in order, and the variable it is said of (empty: none)."""

    intervals: tuple[Interval, ...]
    name: str = ""

    def same(self, other: Region) -> bool:
        """Tell whether two regions hold the same numbers, of the same variable where both name one."""
        if self.name and other.name and self.name != other.name:
            return False
        return len(self.intervals) == len(other.intervals) and all(
            one.same(another) for one, another in zip(self.intervals, other.intervals, strict=True)
        )


INFINITIES = (Bound(negative(constant("infinity")), -1), Bound(constant("infinity"), 1))
EVERYTHING = Region((Interval(INFINITIES[0], INFINITIES[1]),))


def union(intervals: Iterable[Interval], name: str = "") -> Region:
    """The region of everything in any of the intervals."""
    kept = sorted((i for i in intervals if not i.empty), key=functools.cmp_to_key(_order))
    merged: list[Interval] = []
    for interval in kept:
        if merged and _touch(merged[-1], interval):
            merged[-1] = _joined(merged[-1], interval)
        else:
            merged.append(interval)
    return Region(tuple(merged), name)


def intersection(one: Region, other: Region) -> Region:
    """The region of everything in both."""
    return union((_overlap(a, b) for a in one.intervals for b in other.intervals), one.name or other.name)


def complement(region: Region) -> Region:
    """The real numbers outside a region."""
    (low, everything), low_open, found = INFINITIES, True, []
    for interval in region.intervals:
        found.append(Interval(low, interval.low, low_open, not interval.low_open))
        low, low_open = interval.high, not interval.high_open
    found.append(Interval(low, everything, low_open, True))
    return union(found, region.name)


def _order(one: Interval, other: Interval) -> int:
    if one.low.same(other.low):
        return int(one.low_open) - int(other.low_open)
    return -1 if one.low.below(other.low) else 1


def _touch(left: Interval, right: Interval) -> bool:
    if left.high.same(right.low):
        return not (left.high_open and right.low_open)
    return right.low.below(left.high)


def _joined(left: Interval, right: Interval) -> Interval:
    if left.high.same(right.high):
        return Interval(left.low, left.high, left.low_open, left.high_open and right.high_open)
    end = right if left.high.below(right.high) else left
    return Interval(left.low, end.high, left.low_open, end.high_open)


def _overlap(a: Interval, b: Interval) -> Interval:
    low = a if b.low.below(a.low) else b
    high = a if a.high.below(b.high) else b
    low_open = a.low_open or b.low_open if a.low.same(b.low) else low.low_open
    high_open = a.high_open or b.high_open if a.high.same(b.high) else high.high_open
    return Interval(low.low, high.high, low_open, high_open)
