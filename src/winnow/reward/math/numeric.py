"""Expressions evaluated to hundreds of digits, at a point where they hold variables.

Every value comes with a bound on its error, fifty digits below what the intermediate results span.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
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
# At a sample point; there are others.
_MOST_MAGNITUDE_THERE = 2**13
_SPARE_DIGITS = 100
_BITS_PER_DIGIT = 3.3219281

Point = Mapping[str, Fraction]

_threads = threading.local()


def context_of_thread() -> Any:
    """The mpmath context of this thread."""
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
    return _evaluate(node, _digits(node, point, real), point, real)


def evaluate_both(
    left: Node, right: Node, point: Point | None = None, real: bool = False
) -> tuple[Approximate, Approximate]:
    """Evaluate two expressions to as many digits as the harder one needs, see `evaluate`."""
    digits = max(_digits(left, point, real), _digits(right, point, real))
    return _evaluate(left, digits, point, real), _evaluate(right, digits, point, real)


def _digits(node: Node, point: Point | None, real: bool) -> int:
    context = context_of_thread()
    rough = _Evaluation(context, point or {}, real)
    with context.workdps(30):
        rough.of(node)
    return _SPARE_DIGITS + int((rough.highest - rough.lowest) / _BITS_PER_DIGIT)


def _evaluate(node: Node, digits: int, point: Point | None, real: bool) -> Approximate:
    context = context_of_thread()
    fine = _Evaluation(context, point or {}, real)
    with context.workdps(digits):
        result = fine.of(node)
        # Half of the spare digits absorb what rounding and cancellation lose.
        error = context.ldexp(1, int(fine.highest - (digits - _SPARE_DIGITS / 2) * _BITS_PER_DIGIT))
    if error > context.mpf(10) ** -25 * max(abs(result), 1):
        raise Undefined("too close to a singularity")
    return Approximate(result, error)


class _Evaluation:
    def __init__(self, context: Any, point: Point, real: bool) -> None:
        self.context = context
        self.point = point
        self.real = real
        self.most = _MOST_MAGNITUDE_THERE if point else _MOST_MAGNITUDE
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
            if max(self.highest, -self.lowest) > self.most:
                raise TooLarge("a value")
        return result

    def step(self, node: Node) -> Any:
        if node.op == "number":
            self.lowest = min(self.lowest, -2 * node.value.denominator.bit_length())
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
                if node.args[1].op == "number":
                    # A fraction may be as close to a root as one part in the square of its denominator.
                    self.lowest = min(self.lowest, -2 * abs(int(context.mag(values[1] or 1))))
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
        if base != 0 and abs(exponent) * (abs(self.context.ln(abs(base))) + 1) > self.most:
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
