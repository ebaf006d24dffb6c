"""Numbers as exact rationals: no rounding, no tolerance, no guess."""

from __future__ import annotations

import re
from fractions import Fraction

# CPython refuses to convert longer digit strings by default, and no answer needs them.
LONGEST = 1000

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
DECIMAL = rf"(?:{_DIGITS}(?:\.\d+)?|(?<!\.)\.\d+)"

_DECIMAL = re.compile(rf"([-+]?)\s*({DECIMAL}|{_DIGITS}\.)", re.ASCII)
_QUOTIENT = re.compile(rf"([-+]?)\s*({DECIMAL})\s*/\s*({DECIMAL})", re.ASCII)


def decimal(text: str) -> Fraction | None:
    """Read an integer or a decimal (``7``, ``-1,250``, ``2.50``, ``.5``, ``7.``), or return None.

    Commas count as thousands separators only where they stand every three digits; the Unicode minus sign
    reads as ``-``. Exponents are not read: ``1e999999999`` would not fit in memory.
    """
    text = text.strip().replace("−", "-")
    match = _DECIMAL.fullmatch(text) if 0 < len(text) <= LONGEST else None
    if match is None:
        return None
    value = Fraction(match[2].replace(",", "").rstrip("."))
    return -value if match[1] == "-" else value


def quotient(text: str) -> Fraction | None:
    """Read a fraction of two decimals (``7/2``), or return None; a zero below the line is None too."""
    text = text.strip().replace("−", "-")
    match = _QUOTIENT.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    above, below = decimal(match[2]), decimal(match[3])
    if above is None or not below:
        return None
    return -above / below if match[1] == "-" else above / below


def rational(text: str) -> Fraction | None:
    """Read an integer, a decimal or a fraction, or return None."""
    value = decimal(text)
    return quotient(text) if value is None else value
