"""Expressions made of rationals and arithmetic, evaluated exactly, within bounds on the size of the result."""

from __future__ import annotations

import math
from fractions import Fraction

from winnow.reward.math.tree import Node

# Numbers of more bits are never computed: 9^(9^(9^9)) would never end.
MOST_BITS = 2**16


class TooLarge(ArithmeticError):
    """An expression is too large to evaluate; it can only be compared as it is written."""


class Undefined(ArithmeticError):
    """An expression has no value here, as a quotient by zero."""


def exact(node: Node) -> Fraction | None:
    """The value of an expression if it is rational by its form, else None.

    Raises:
        TooLarge: beyond `MOST_BITS` bits, or a factorial or binomial of more than 5000.
        Undefined: for a division by zero.
    """
    if node.op == "number":
        return _bounded(node.value)
    if node.op in ("symbol", "constant", "applied"):
        return None
    values = [exact(arg) for arg in node.args]
    if any(value is None for value in values):
        return None
    return _apply(node.op, [value for value in values if value is not None])


def _apply(op: str, values: list[Fraction]) -> Fraction | None:
    if op == "+":
        return _bounded(sum(values, Fraction(0)))
    if op == "*":
        return _product(values)
    if op == "/":
        if not values[1]:
            raise Undefined("division by zero")
        return _bounded(values[0] / values[1])
    if op == "^":
        return _power(*values)
    if op == "root":
        return _root(*values)
    if op in ("factorial", "binomial", "mod", "gcd", "lcm"):
        return _of_integers(op, values)
    if op in ("abs", "floor", "ceiling", "ceil", "max", "min"):
        return _simple(op, values)
    return None


def _product(values: list[Fraction]) -> Fraction:
    result = Fraction(1)
    for value in values:
        result = _bounded(result * value)
    return result


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if base in (0, 1) and exponent > 0:
        return base
    if exponent.denominator != 1:
        return None
    if not base and exponent <= 0:
        raise Undefined("a power of zero")
    size = max(abs(base.numerator).bit_length(), base.denominator.bit_length())
    if abs(base) != 1 and abs(exponent) * size > MOST_BITS:
        raise TooLarge("a power")
    return Fraction(base) ** int(exponent % 2 if abs(base) == 1 else exponent)


def _root(base: Fraction, degree: Fraction) -> Fraction | None:
    if degree == 2 and base >= 0:
        above, below = math.isqrt(base.numerator), math.isqrt(base.denominator)
        if above * above == base.numerator and below * below == base.denominator:
            return Fraction(above, below)
    return None


def _of_integers(op: str, values: list[Fraction]) -> Fraction | None:
    if op == "mod" and values[1]:
        return values[0] % values[1]
    if any(value.denominator != 1 for value in values):
        return None
    numbers = [int(value) for value in values]
    if op == "gcd":
        return Fraction(math.gcd(*numbers))
    if op == "lcm":
        return _bounded(Fraction(math.lcm(*numbers)))
    if op == "mod" or any(n < 0 for n in numbers):
        return None
    if numbers[0] > 5000:
        raise TooLarge(op)
    return Fraction(math.factorial(numbers[0]) if op == "factorial" else math.comb(*numbers))


def _simple(op: str, values: list[Fraction]) -> Fraction:
    if op == "abs":
        return abs(values[0])
    if op == "floor":
        return Fraction(math.floor(values[0]))
    if op in ("ceiling", "ceil"):
        return Fraction(math.ceil(values[0]))
    return max(values) if op == "max" else min(values)


def _bounded(value: Fraction) -> Fraction:
    if max(abs(value.numerator).bit_length(), value.denominator.bit_length()) > 2 * MOST_BITS:
        raise TooLarge("a number")
    return value
