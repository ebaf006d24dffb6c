"""The part of the math reward that needs sympy, through math-verify."""

from __future__ import annotations

import functools
import logging
import math
from typing import Any

from winnow import errors

try:
    import sympy
    from math_verify import LatexExtractionConfig
    from math_verify import parse as _parse
    from math_verify import verify as _verify
except ImportError as error:
    raise errors.MissingExtra("the math reward needs math-verify: pip install 'winnow-rl[math]'") from error

# Values beyond this many bits are compared by form alone: evaluating 9^(9^(9^9)) would never end.
_MOST_BITS = 2**17


class _NoTimeoutNote(logging.Filter):
    # math-verify reminds its caller that timeouts are off. They have to be: its alarm signal works in the main
    # thread of a Unix process only, and elsewhere every verdict would be an error.
    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("Timeout is disabled")


for _name in ("math_verify.parser", "math_verify.grader"):
    logging.getLogger(_name).addFilter(_NoTimeoutNote())


@functools.lru_cache(maxsize=4096)
def expression(latex: str) -> Any:
    """Parse LaTeX (without delimiters) into an unevaluated sympy object, or None if nothing can be read."""
    try:
        found = _parse(
            f"${latex}$",
            extraction_config=[LatexExtractionConfig()],
            fallback_mode="no_fallback",
            extraction_mode="first_match",
            parsing_timeout=None,
        )
    except RecursionError:
        return None
    return found[0] if found and not isinstance(found[0], str) else None


def equal(gold: Any, answer: Any) -> bool:
    """Tell whether two parsed expressions are equal.

    Numbers without roots or functions are compared as exact rationals, since math-verify rounds (1/2^90 and
    1/2^91 are one to it); everything else is left to math-verify, in both orders, because it reads an inequality
    against an interval in one of them only.
    """
    try:
        if gold == answer:
            return True
        if max(_bits(gold), _bits(answer)) > _MOST_BITS:
            return False
        left, right = _rational(gold), _rational(answer)
        if left is not None and right is not None:
            return bool(left == right)
        return _check(gold, answer) or (_is_relation_with_set(gold, answer) and _check(answer, gold))
    except RecursionError:
        return False


def _check(gold: Any, answer: Any) -> bool:
    return bool(_verify(gold, answer, timeout_seconds=None))


def _is_relation_with_set(gold: Any, answer: Any) -> bool:
    return isinstance(gold, sympy.Set) and isinstance(answer, sympy.logic.boolalg.Boolean)


def _rational(expression: Any) -> Any:
    """The exact value of a number made of integers, decimals and arithmetic; None for anything else."""
    if not isinstance(expression, sympy.Expr) or expression.free_symbols:
        return None
    exact = expression.xreplace({number: sympy.Rational(str(number)) for number in expression.atoms(sympy.Float)})
    value = exact.doit()
    return value if isinstance(value, sympy.Rational) else None


def _bits(expression: Any) -> float:
    """An upper bound on the bits of the largest number that evaluating an expression goes through."""
    if isinstance(expression, sympy.Rational):
        return float(max(abs(expression.p).bit_length(), expression.q.bit_length()))
    arguments = [_bits(argument) for argument in getattr(expression, "args", ())]
    if isinstance(expression, sympy.Pow):
        base, exponent = arguments
        return float(max(base, 1.0) * 2.0 ** min(exponent, 64.0))
    if isinstance(expression, sympy.factorial):
        return float(2.0 ** min(arguments[0], 64.0) * max(arguments[0], 1.0))
    return max(1.0, math.fsum(arguments))
