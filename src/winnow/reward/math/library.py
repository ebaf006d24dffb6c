"""math-verify, for golds this package does not read itself: integrals, sums, logic, derivatives."""

from __future__ import annotations

import functools
import logging
import math
import re
from typing import Any

from winnow import errors
from winnow.reward.math.parts import depths

try:
    import sympy
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig, NormalizationConfig, latex2sympy
    from math_verify import verify as _verify
except ImportError as error:
    raise errors.MissingExtra("the math reward needs math-verify: pip install 'winnow-rl[math]'") from error

# Numbers of more bits are not evaluated: 9^(9^(9^9)) would never end.
_MOST_BITS = 2**15
_LONGEST = 300
# Its grammar takes time exponential in the nesting of brackets.
_DEEPEST = 5

# Parsing these evaluates them at once, however large they are.
_EAGER = re.compile(r"\\(?:binom|choose|gcd|lcm|det|max|min)|[PC]_|\d{5,}\s*!")
# What restates a question is no answer to it.
_UNFINISHED = re.compile(r"\\(?:int|iint|oint|sum|prod|lim|frac\s*\{\s*d\s*\}\s*\{\s*d)(?![A-Za-z])")

_NORMALIZATION = NormalizationConfig(basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="none")
# Letters keep their case: X is not x.
_CONVERSION = ConversionConfig(lowercase_symbols=False)


class _NoTimeoutNote(logging.Filter):
    # math-verify reminds its caller that timeouts are off. They have to be: its alarm signal works in the main
    # thread of a Unix process only, and elsewhere every verdict would be an error.
    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("Timeout is disabled")


logging.getLogger("math_verify.grader").addFilter(_NoTimeoutNote())


@functools.lru_cache(maxsize=4096)
def expression(text: str) -> Any:
    """Read LaTeX as an unevaluated sympy object, or None if it cannot be read."""
    if len(text) > _LONGEST or _EAGER.search(text) or not text.strip() or max(depths(text)) > _DEEPEST:
        return None
    from latex2sympy2_extended.math_normalization import normalize_latex

    try:
        found = latex2sympy(
            normalize_latex(text, _NORMALIZATION),
            is_real=False,
            normalization_config=None,
            conversion_config=_CONVERSION,
        )
    # The parser reports errors in the text as bare Exception.
    except Exception:
        return None
    return found if isinstance(found, sympy.Basic | sympy.MatrixBase) else None


def equal(gold: str, answer: str) -> bool:
    """Tell whether math-verify holds two texts for equal, in both orders.

    Numbers too large never are, and no answer that still has to be worked out is: an integral, a sum, a limit.
    """
    if _UNFINISHED.search(answer):
        return False
    left, right = expression(gold), expression(answer)
    if left is None or right is None:
        return False
    if left == right:
        return True
    if max(_bits(left), _bits(right)) > _MOST_BITS:
        return False
    try:
        return bool(_verify(left, right, timeout_seconds=None) and _verify(right, left, timeout_seconds=None))
    except RecursionError:
        return False


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
