"""Readers of statements: equations, assignments, inequalities, approximations, membership."""

from __future__ import annotations

from dataclasses import replace

from winnow.reward.math import relations
from winnow.reward.math.clean import squeezed
from winnow.reward.math.equality import rounds_to, same_values
from winnow.reward.math.parts import brackets, commas, cut
from winnow.reward.math.parts import relations as split_relations
from winnow.reward.math.readings import Approximation, Assignment, Equation, Inequality, Reading
from winnow.reward.math.regions import Region
from winnow.reward.math.sets import Again
from winnow.reward.math.syntax import parse
from winnow.reward.math.tree import Unreadable
from winnow.reward.math.value import Value, value
from winnow.reward.rationals import decimal

_INEQUALITIES = frozenset({"<", ">", "\\le", "\\ge"})


def approximation(text: str, again: Again) -> Reading | None:
    r"""``2\sqrt{2} \approx 2.83``; both sides count, so they must not contradict each other."""
    pieces = cut(text, "\\approx")
    if len(pieces) < 2:
        return None
    left, right = " \\approx ".join(pieces[:-1]), pieces[-1]
    rounded = again(right)
    if not left:
        return rounded
    if relations.is_label(left):
        return _named(left, rounded)
    found = again(left)
    exact = found.reading if isinstance(found, Assignment) else found
    if not (isinstance(exact, Value) and isinstance(rounded, Value) and rounds_to(exact, rounded)):
        raise Unreadable("its sides are not about equal")
    return Approximation(found, rounded)


def statement(text: str, again: Again) -> Reading | None:
    """Anything with a relation sign outside of brackets."""
    sides, signs = split_relations(text)
    if not signs:
        return None
    if not all(sides):
        # "= 5" continues a line; anything else is broken.
        if sides[0] == "" and signs == ["="]:
            return again(sides[1])
        raise Unreadable("a side of a relation is missing")
    if set(signs) <= _INEQUALITIES or signs == ["\\ne"]:
        return _inequality(sides, signs)
    if set(signs) == {"="}:
        return _chain(sides, again) if len(sides) > 2 else _equation(sides[0], sides[1], again)
    if signs == ["\\in"]:
        return _named(sides[0], again(sides[1]))
    raise Unreadable(f"the relation {' '.join(signs)} is not read here")


def _inequality(sides: list[str], signs: list[str]) -> Reading:
    found = relations.chain(sides, signs)
    if isinstance(found, Region):
        return found
    left, sign, right = found
    if sign == "\\ne":
        raise Unreadable("it says only that two expressions differ")
    low, high = (left, right) if sign in ("<", "\\le") else (right, left)
    return Inequality(low, high, sign in ("<", ">"))


def _chain(sides: list[str], again: Again) -> Reading:
    """``x = 2 + 3 = 5``: the last side, if it equals the ones before it."""
    last = again(sides[-1])
    named = relations.is_label(sides[0])
    _check_equal(sides[1:] if named else sides)
    return _named(sides[0], last) if named else last


def _equation(left: str, right: str, again: Again) -> Reading:
    if squeezed(left) == squeezed(right):
        raise Unreadable("it sets an expression equal to itself")
    if relations.is_label(left):
        return _named(left, again(right))
    if relations.is_label(right):
        return _named(right, again(left))
    group = brackets(left)
    if group is not None and all(relations.is_label(part) for part in commas(group[1])):
        return again(right)
    trees = parse(left), parse(right)
    if trees[0].symbols() or trees[1].symbols():
        return Equation(*trees)
    _check_equal([left, right])
    return again(right)


def _check_equal(sides: list[str]) -> None:
    if len({squeezed(side) for side in sides}) == 1 or all(decimal(side) is not None for side in sides):
        raise Unreadable("it sets a number equal to itself")
    values = [value(side) for side in sides]
    if not all(same_values(values[0], other) for other in values[1:]):
        raise Unreadable("its sides are not equal")


def _named(side: str, found: Reading) -> Reading:
    name = squeezed(side)
    return replace(found, name=name) if isinstance(found, Region) else Assignment(name, found)
