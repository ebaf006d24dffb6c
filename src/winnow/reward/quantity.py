r"""Numbers as LaTeX writes them, read exactly and without sympy.

``\frac{5}{6}``, ``2\frac{1}{2}`` (a mixed number), ``12{,}500``, ``\$1250``, ``7.5\%``, ``10\text{ cm}``: most
golds and answers are of this kind, and need no computer algebra.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from winnow.reward.rationals import LONGEST, rational

_FRACTION = re.compile(r"([-+]?)\s*(\d*)\s*\\[dtc]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))")
_UNIT = re.compile(
    r"(?P<number>.*?[\d})])\s*"
    r"(?:\\(?:text|mathrm|textrm|mbox)\{(?P<inner>[^{}]*)\}|\s(?P<word>[A-Za-z]{2,}))",
    re.DOTALL,
)
_DEGREES = re.compile(r"(?:\^\s*(?:\\circ|\{\s*\\circ\s*\})|°)$")

# Two letters are as likely a product of variables, unless they are one of these.
_SHORT_UNITS = frozenset({"mm", "cm", "km", "mg", "kg", "ml", "in", "ft", "yd", "mi", "oz", "lb", "hr", "pm", "am"})

_SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

# Words that look like a unit and are part of the value.
_NO_UNITS = frozenset(
    {"and", "or", "sqrt", "sin", "cos", "tan", "log", "exp", "mod", "theta", "alpha", "beta", "gamma", "phi", "mu"}
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number, whether it was written in percent, and the unit written after it (empty: none)."""

    value: Fraction
    percent: bool = False
    unit: str = ""

    def same(self, other: Quantity) -> bool:
        """Tell whether two quantities are equal.

        Units must agree where both have one. Where only one is in percent, the other may be the bare number or
        the fraction: 35% is 35 as well as 0.35.
        """
        if self.unit and other.unit and self.unit != other.unit:
            return False
        if self.percent == other.percent:
            return self.value == other.value
        percent, plain = (self, other) if self.percent else (other, self)
        return plain.value in (percent.value, percent.value / 100)


def quantity(text: str) -> Quantity | None:
    """Read a cleaned answer (see `winnow.reward.latex.clean`) as one number, or return None."""
    if len(text) > LONGEST:
        return None
    text, words = _split_unit(text.strip())
    text = _DEGREES.sub("", text).strip().removeprefix("\\$").removeprefix("$").strip()
    percent = text.endswith("%") or words[:1] == ["percent"]
    text = text.removesuffix("%").removesuffix("\\").strip() if text.endswith("%") else text
    value = rational(text.replace("{,}", ","))
    if value is None:
        value = _fraction(text)
    if value is None:
        return None
    if words and words[0] in _SCALES:
        value *= _SCALES[words.pop(0)]
    unit = "" if percent else " ".join(words).rstrip(".").removesuffix("s")
    return Quantity(value, percent, unit)


def _split_unit(text: str) -> tuple[str, list[str]]:
    match = _UNIT.fullmatch(text)
    if match is None:
        return text, []
    words = (match["inner"] or match["word"] or "").casefold().split()
    if not _NO_UNITS.isdisjoint(words):
        return text, []
    if match["word"] and len(words[0]) < 3 and words[0] not in _SHORT_UNITS:
        return text, []
    return match["number"], words


def _fraction(text: str) -> Fraction | None:
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    sign, whole, *parts = match.groups()
    above, below = (rational(part or digit or "") for part, digit in (parts[:2], parts[2:]))
    if above is None or not below:
        return None
    value = above / below
    if whole:
        # Only a whole number of proper parts is a mixed number; 2\frac{3}{2} is left to the algebra.
        if not 0 <= value < 1:
            return None
        value += int(whole)
    return -value if sign == "-" else value
