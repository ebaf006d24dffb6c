"""Inequalities in one variable: the numbers for which they hold."""

from __future__ import annotations

from fractions import Fraction

from winnow.reward.math.exact import TooLarge, Undefined, exact
from winnow.reward.math.regions import INFINITIES, Interval, Region, bound, complement, intersection, union
from winnow.reward.math.tree import Node, Unreadable, difference, negative, number


def region(left: Node, sign: str, right: Node) -> Region | None:
    r"""The numbers for which an inequality (or ``\ne``) in one variable holds.

    Linear and quadratic inequalities and absolute values are solved here, others by sympy; None where that fails.

    Raises:
        Unreadable: if it has no variable or more than one.
    """
    names = left.symbols() | right.symbols()
    if len(names) != 1:
        raise Unreadable("an inequality in one variable was expected")
    (name,) = names
    if left.op == "symbol" and not right.symbols():
        return _solved(name, sign, right)
    if right.op == "symbol" and not left.symbols():
        return _solved(name, _flipped(sign), left)
    if left.op == "abs" and not right.symbols() and sign != "\\ne":
        return _absolute(left.args[0], sign, right)
    coefficients = _quadratic(difference(left, right), name)
    if coefficients is not None:
        return _by_roots(name, sign, *coefficients)
    from winnow.reward.math.solver import solve

    return solve(left, sign, right, name)


def _solved(name: str, sign: str, right: Node) -> Region:
    end = bound(right)
    low, high = INFINITIES
    if sign == "\\ne":
        return complement(Region((Interval(end, end, False, False),), name))
    if sign in ("<", "\\le"):
        return union([Interval(low, end, True, sign == "<")], name)
    return union([Interval(end, high, sign == ">", True)], name)


def _absolute(inner: Node, sign: str, right: Node) -> Region | None:
    above, below = region(inner, sign, right), region(inner, _flipped(sign), negative(right))
    if above is None or below is None:
        return None
    if sign in ("<", "\\le"):
        return intersection(above, below)
    return union([*above.intervals, *below.intervals], above.name)


def _by_roots(name: str, sign: str, a: Fraction, b: Fraction, c: Fraction) -> Region:
    """Solve ``a x^2 + b x + c`` against zero."""
    if not a:
        return _solved(name, sign if b > 0 else _flipped(sign), number(-c / b))
    if a < 0:
        a, b, c, sign = -a, -b, -c, _flipped(sign)
    inside = b * b - 4 * a * c
    low, high = INFINITIES
    everything = Region((Interval(low, high),), name)
    if inside < 0:
        return everything if sign in (">", "\\ge", "\\ne") else Region((), name)
    root = Node("/", (Node("root", (number(inside), number(2))), number(2 * a)))
    middle = number(-b / (2 * a))
    first, last = bound(Node("+", (middle, negative(root)))), bound(Node("+", (middle, root)))
    closed = Region((Interval(first, last, sign in ("<", "\\ge"), sign in ("<", "\\ge")),), name)
    if sign == "\\ne":
        return complement(union([Interval(first, first, False, False), Interval(last, last, False, False)], name))
    return union(closed.intervals, name) if sign in ("<", "\\le") else complement(closed)


def _quadratic(tree: Node, name: str) -> tuple[Fraction, Fraction, Fraction] | None:
    """The rational coefficients of a polynomial of degree one or two, found at five places; None for all else."""
    if any(node.op not in ("number", "symbol", "+", "*", "/", "^") for node in tree.walk()):
        return None
    places = [Fraction(x) for x in (0, 1, -1, 7, -13)]
    try:
        values = [exact(_at(tree, x)) for x in places]
    except (TooLarge, Undefined):
        return None
    found = [value for value in values if value is not None]
    if len(found) < len(places):
        return None
    c = found[0]
    a, b = (found[1] + found[2]) / 2 - c, (found[1] - found[2]) / 2
    fits = all(a * x * x + b * x + c == y for x, y in zip(places, found, strict=True))
    return (a, b, c) if fits and (a or b) else None


def _at(tree: Node, x: Fraction) -> Node:
    if tree.op == "symbol":
        return number(x)
    return Node(tree.op, tuple(_at(arg, x) for arg in tree.args), tree.value, tree.name) if tree.args else tree


def _flipped(sign: str) -> str:
    return {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}.get(sign, sign)
