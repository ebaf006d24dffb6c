"""Whether two numbers or two expressions in variables are equal, to fifty digits.

Two numbers are equal if they agree in fifty digits more than the intermediate results of either span. Two expressions
in variables are equal if they agree at every sample point where both are real: the identity test of Schwartz and
Zippel, with long decimals in place of a finite field. Inequality found this way is certain; equality would otherwise
need a coincidence of fifty digits at several points, or expressions that differ only where no point lies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from winnow.reward.math.exact import TooLarge, Undefined, exact
from winnow.reward.math.numeric import Approximate, context_of_thread, evaluate_both
from winnow.reward.math.tree import Node

_POINTS = 16
# From this one on the points are large.
_LARGE = 12
_LARGEST = Fraction(10**100)
_ENOUGH = 2

# Letters that stand for whole numbers by custom: (-1)^n is cos(n pi).
_WHOLE = frozenset("nkm")
# For the quotient of two values: as many digits as any of them has.
_PRECISE = 2500


def same_value(left: Node, right: Node) -> bool:
    """Tell whether two expressions are equal: as numbers, or at every sample point of their variables.

    Raises:
        TooLarge: if they are numbers and one is too large to evaluate.
        Undefined: if they are numbers and one has no value.
    """
    names = sorted(left.symbols() | right.symbols())
    if not names:
        one, other = evaluate_both(left, right)
        return one.close(other)
    for real in (True, False):
        agreed = 0
        for one, other in _samples(left, right, names, real):
            if not one.close(other):
                return False
            agreed += 1
        if agreed >= _ENOUGH:
            return True
    return False


def constant_ratio(left: Node, right: Node) -> Any | None:
    """The number c other than 0 with left = c * right at every sample point, or None if there is none."""
    ratio, allowed, agreed = None, 0, 0
    for one, other in _samples(left, right, sorted(left.symbols() | right.symbols()), False):
        if abs(one.value) <= one.error or abs(other.value) <= other.error:
            return None
        with context_of_thread().workdps(_PRECISE):
            quotient = one.value / other.value
            error = 2 * (one.error / abs(one.value) + other.error / abs(other.value))
            if ratio is not None and abs(quotient - ratio) > (error + allowed) * abs(ratio):
                return None
        ratio, allowed = quotient, error
        agreed += 1
    return ratio if agreed >= _ENOUGH else None


def _samples(left: Node, right: Node, names: list[str], real: bool) -> Iterator[tuple[Approximate, Approximate]]:
    real = real and not any(node.name == "i" and node.op == "constant" for n in (left, right) for node in n.walk())
    reach = _reach(left, right)
    for place in range(_POINTS):
        point = {name: _coordinate(name, place, reach) for name in names}
        try:
            pair = evaluate_both(left, right, point, real)
        except (Undefined, TooLarge):
            continue
        yield pair


def _reach(left: Node, right: Node) -> Fraction:
    r"""A size beyond the numbers written in two expressions: where ``\min(x, 1000)`` is no longer x."""
    written = [_size(node) for tree in (left, right) for node in tree.walk() if node.op in ("number", "^")]
    return 3 * max([Fraction(400), *(size for size in written if size < _LARGEST)])


def _size(node: Node) -> Fraction:
    try:
        return abs(exact(node) or Fraction(0))
    except (TooLarge, Undefined):
        return Fraction(0)


def _coordinate(name: str, place: int, reach: Fraction) -> Fraction:
    """A coordinate, the same every time: small, middling and large, positive at first and then of either sign.

    The last points are far out, at about 50 and at about ``reach``: positive, then negative. Letters for whole numbers
    stay positive.
    """
    digest = int.from_bytes(hashlib.blake2b(f"{name}/{place}".encode(), digest_size=12).digest(), "big")
    if name in _WHOLE:
        far = (50, reach, reach + 50, 2 * reach)[place - _LARGE] if place >= _LARGE else 0
        return Fraction(int(far) + 1 + place + digest % 3)
    share = Fraction(digest, 2**96) * Fraction(4, 5) + Fraction(1, 10)
    if place >= _LARGE:
        return (50 if place % 2 else reach) * (1 + share / 10) * (1 if place < _LARGE + 2 else -1)
    size = (1, 4, 15)[place % 3] * share
    return -size if place >= _LARGE // 2 and digest & 1 else size
