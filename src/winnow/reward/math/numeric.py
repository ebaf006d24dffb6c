"""Expressions evaluated to hundreds of digits: constants once, and expressions in variables at sample points.

Two numbers are equal if they agree in fifty digits more than their largest and smallest intermediate results span.
Two expressions in variables are equal if they agree at every sample point where both are real: the identity test
of Schwartz and Zippel, with long decimals in place of a finite field. Inequality found this way is certain;
equality would otherwise need a coincidence of fifty digits at several points.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winnow import errors
from winnow.reward.math.exact import TooLarge, Undefined
from winnow.reward.math.tree import Node

try:
    import mpmath  # type: ignore[import-untyped,unused-ignore]
except ImportError as error:
    raise errors.MissingExtra("the math reward needs math-verify: pip install 'winnow-rl[math]'") from error

# Bits before or after the point; beyond, an expression is compared as it is written.
_MOST_MAGNITUDE = 2**16
_SPARE_DIGITS = 100
_BITS_PER_DIGIT = 3.3219281

_POINTS = 12
_ENOUGH = 2

# Letters that stand for whole numbers by custom: (-1)^n is cos(n pi).
_WHOLE = frozenset("nkm")

Point = Mapping[str, Fraction]

_threads = threading.local()


def _context() -> Any:
    # The precision is a property of the context, and mpmath's own is shared by all threads.
    if not hasattr(_threads, "context"):
        _threads.context = mpmath.MPContext()
        _threads.context.dps = 60
    return _threads.context


@dataclass(frozen=True, slots=True)
class Approximate:
    """A number (an mpmath real or complex) and a bound on its error."""

    value: Any
    error: Any

    def close(self, other: Approximate) -> bool:
        """Tell whether both may be the same number."""
        return bool(abs(self.value - other.value) <= self.error + other.error)

    @property
    def real(self) -> bool:
        """Whether the imaginary part is zero within the error."""
        return bool(abs(self.value.imag) <= self.error)


def evaluate(node: Node, point: Point | None = None, real: bool = False) -> Approximate:
    """Evaluate an expression; with ``real`` every step has to be a real number.

    Raises:
        TooLarge: if a step takes more than 65536 bits before or after the point.
        Undefined: if there is no value (division by zero, infinity, a step that is not real).
    """
    context = _context()
    rough = _Evaluation(context, point or {}, real)
    with context.workdps(30):
        rough.of(node)
    digits = _SPARE_DIGITS + int((rough.highest - rough.lowest) / _BITS_PER_DIGIT)
    fine = _Evaluation(context, point or {}, real)
    with context.workdps(digits):
        result = fine.of(node)
        # Half of the spare digits absorb what rounding and cancellation lose.
        error = context.ldexp(1, int(fine.highest - (digits - _SPARE_DIGITS / 2) * _BITS_PER_DIGIT))
    if error > context.mpf(10) ** -25 * max(abs(result), 1):
        raise Undefined("too close to a singularity")
    return Approximate(result, error)


def same_value(left: Node, right: Node) -> bool:
    """Tell whether two expressions are equal: as numbers, or at every sample point of their variables.

    Raises:
        TooLarge: if they are numbers and one is too large to evaluate.
        Undefined: if they are numbers and one has no value.
    """
    names = sorted(left.symbols() | right.symbols())
    if not names:
        return evaluate(left).close(evaluate(right))
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
    ratio, agreed = None, 0
    tolerance = _context().mpf(10) ** -25
    for one, other in _samples(left, right, sorted(left.symbols() | right.symbols()), False):
        if abs(one.value) <= one.error or abs(other.value) <= other.error:
            return None
        quotient = one.value / other.value
        if ratio is not None and abs(quotient - ratio) > tolerance * abs(ratio):
            return None
        ratio = quotient
        agreed += 1
    return ratio if agreed >= _ENOUGH else None


def _samples(left: Node, right: Node, names: list[str], real: bool) -> Iterator[tuple[Approximate, Approximate]]:
    real = real and not any(node.name == "i" and node.op == "constant" for n in (left, right) for node in n.walk())
    for place in range(_POINTS):
        point = {name: _coordinate(name, place) for name in names}
        try:
            pair = evaluate(left, point, real), evaluate(right, point, real)
        except (Undefined, TooLarge):
            continue
        yield pair


def _coordinate(name: str, place: int) -> Fraction:
    """A coordinate, the same every time: small, middling and large, positive at first and then of either sign."""
    digest = int.from_bytes(hashlib.blake2b(f"{name}/{place}".encode(), digest_size=12).digest(), "big")
    if name in _WHOLE:
        return Fraction(1 + place + digest % 3)
    size = (1, 4, 15)[place % 3] * (Fraction(digest, 2**96) * Fraction(4, 5) + Fraction(1, 10))
    return -size if place >= _POINTS // 2 and digest & 1 else size


class _Evaluation:
    def __init__(self, context: Any, point: Point, real: bool) -> None:
        self.context = context
        self.point = point
        self.real = real
        self.highest = 1
        self.lowest = -1

    def of(self, node: Node) -> Any:
        try:
            result = self.step(node)
        except (ZeroDivisionError, ValueError, OverflowError, self.context.NoConvergence) as error:
            raise Undefined(str(error)) from error
        if not self.context.isfinite(result):
            raise Undefined("infinite")
        if self.real and self.context.im(result) != 0:
            raise Undefined("not real")
        if result != 0:
            size = int(self.context.mag(result))
            self.lowest, self.highest = min(self.lowest, size), max(self.highest, size)
            if max(self.highest, -self.lowest) > _MOST_MAGNITUDE:
                raise TooLarge("a value")
        return result

    def step(self, node: Node) -> Any:
        if node.op == "number":
            return self.rational(node.value)
        if node.op == "symbol":
            return self.rational(self.point[node.name])
        if node.op == "constant":
            return self.constant(node.name)
        values = [self.of(arg) for arg in node.args]
        if node.op in _BY_NAME:
            return getattr(self.context, _BY_NAME[node.op])(*values)
        if node.op == "root":
            return self.root(node.args[1], *values)
        return self.operation(node, values)

    def rational(self, value: Fraction) -> Any:
        return self.context.mpf(value.numerator) / value.denominator

    def constant(self, name: str) -> Any:
        if name == "infinity":
            raise Undefined("infinity")
        return self.context.mpc(0, 1) if name == "i" else +getattr(self.context, name)

    def operation(self, node: Node, values: list[Any]) -> Any:
        context = self.context
        match node.op:
            case "+":
                return functools.reduce(lambda a, b: a + b, values)
            case "*":
                return functools.reduce(lambda a, b: a * b, values)
            case "/":
                return values[0] / values[1]
            case "^":
                return self.power(*values)
            case "exp":
                return self.power(+context.e, values[0])
            case "log":
                return context.ln(values[0]) / context.ln(values[1])
            case "abs":
                return abs(values[0])
            case "factorial" | "binomial":
                if max(abs(v) for v in values) > 5000:
                    raise TooLarge(node.op)
                return getattr(context, node.op)(*values)
            case "mod":
                return values[0] - values[1] * context.floor(values[0] / values[1])
            case "max" | "min":
                pick: Callable[..., Any] = max if node.op == "max" else min
                return pick(values, key=context.re)
            case "applied":
                # An unknown function: any fixed one that tells its arguments apart will do.
                return sum(context.cos((ord(node.name) + place) * v) for place, v in enumerate(values, 2))
        raise Undefined(f"{node.op} is not evaluated")

    def power(self, base: Any, exponent: Any) -> Any:
        if base != 0 and abs(exponent) * (abs(self.context.ln(abs(base))) + 1) > _MOST_MAGNITUDE:
            raise TooLarge("a power")
        return base**exponent

    def root(self, degree_node: Node, base: Any, degree: Any) -> Any:
        # The real root where there is one: the cube root of -8 is -2.
        odd = degree_node.op == "number" and degree_node.value.denominator == 1 and degree_node.value.numerator % 2
        if odd and self.context.im(base) == 0 and self.context.re(base) < 0:
            return -((-base) ** (1 / degree))
        return base ** (1 / degree)


_BY_NAME = {
    **{name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth")},
    **{name: name for name in ("asin", "acos", "atan", "ln", "floor", "arg")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "cot", "sinh", "cosh", "tanh")},
    **{"ceil": "ceil", "ceiling": "ceil", "Re": "re", "Im": "im"},
}
