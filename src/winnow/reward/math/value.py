r"""One value: a number or expression, with the percent sign, currency and unit written around it.

Integers, decimals and fractions are read here exactly and at once; what else there is goes to `syntax`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from winnow.reward.math.exact import TooLarge, Undefined, exact
from winnow.reward.math.syntax import parse
from winnow.reward.math.tree import Node, Unreadable, number
from winnow.reward.math.units import Unit, unit
from winnow.reward.math.vocabulary import SCALES
from winnow.reward.rationals import LONGEST, decimal, rational

_CURRENCY = re.compile(r"^([-+]?)\s*(\\?\$|€|£|¥|₹|\\text\{(?:US)?\$\}|US\\?\$|Rs\.?)\s*(?=[-+\d.\\])")
_DECIMAL_PLACES = re.compile(r"[-+]?[\d,]*\.(\d+)", re.ASCII)
_SPACED_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?: \d{3})+(?:\.\d+)?", re.ASCII)
_FRACTION = re.compile(r"([-+]?) ?(\d*) ?\\frac ?(?:\{ ?([-+]?\d+) ?\}|(\d)) ?(?:\{ ?([-+]?\d+) ?\}|(\d))", re.ASCII)
_PERCENT = re.compile(r"\s*(?:\\?%|\\text\s*\{\s*(?:percent|%|\\%)\s*\}|(?<![A-Za-z])percent(?:age)?)$")
_ORDINAL = re.compile(r"(?<=\d)\s*(?:\^\s*)?\{?\s*(?:\\text\s*\{)?\s*(?:st|nd|rd|th)\s*\}*$")
_BASED = re.compile(r"\(?(\d+)\)? ?_ ?\{?(\d{1,2})\}?", re.ASCII)
_QUANTITY = re.compile(
    r"(\d+(?:\.\d+)?) ?(\\text ?\{[A-Za-z. ]+\}|[A-Za-z]{2,}\.?)(?: ?(?:and|\\text ?\{ ?and ?\})| ?,)? ?", re.ASCII
)
_TEMPERATURE = re.compile(r"(.+?) ?\^ ?(?:\\circ|\{ ?\\circ ?\}) ?(?:\\text ?\{ ?)?([CF])(?: ?\})?")
_DEGREES = re.compile(r"\s*\^ ?(?:\\circ|\{ ?\\circ ?\})\s*$")
_SCALE = re.compile(
    rf"(?<![A-Za-z\\])\\?(?:text\s*\{{\s*)?({'|'.join(SCALES)})s?(?![A-Za-z])\s*([^{{}}]*)\}}?$", re.IGNORECASE
)
# Where a unit may begin: the words of an answer are tried from the left.
_UNIT_STARTS = re.compile(r"\\text\s*\{|(?<=\s)[A-Za-z]|(?<=[\d})!%])[A-Za-z]|[¢€£¥₹]|\\frac\s*\{\s*\\text")
_MOST_STARTS = 12


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it was written.

    Attributes:
        tree: the expression.
        fraction: the exact value of a rational; None for everything else and for numbers too large.
        percent: whether it was in percent (``fraction`` is the number before the sign).
        unit: the unit behind it.
        places: digits after the point of a plain decimal, -1 for all else.
        base: the base written below the digits (``fraction`` is the number they would be in base ten); 10 without one.
    """

    tree: Node
    fraction: Fraction | None = None
    percent: bool = False
    unit: Unit | None = None
    places: int = -1
    base: int = 10


def value(text: str, single_letters: bool = False) -> Value:
    """Read a cleaned text as a value.

    Args:
        text: the text.
        single_letters: whether a lone letter may be a unit (``18 h``) rather than a variable.

    Raises:
        Unreadable: if it is none.
    """
    found = _number(text) or _in_base(text) or _temperature(text) or _in_degrees(text) or sum_of_quantities(text)
    if found is not None:
        return found
    rest, currency = _without_currency(_ORDINAL.sub("", text))
    shorter = _PERCENT.sub("", rest)
    if shorter != rest and not shorter.endswith("%"):
        return replace(_bare_value(shorter), percent=True, unit=currency)
    rest, scale, measured = _split_unit(rest, single_letters)
    found = replace(_bare_value(rest), unit=measured or currency)
    if scale == 1:
        return found
    if found.fraction is None:
        raise Unreadable(f"{rest!r} is no number")
    return Value(number(found.fraction * scale), found.fraction * scale, unit=found.unit)


def _bare_value(text: str) -> Value:
    plain = _number(text)
    if plain is not None:
        return plain
    tree = parse(text)
    return Value(tree, rational_value(tree))


def _without_currency(text: str) -> tuple[str, Unit | None]:
    match = _CURRENCY.match(text)
    if match is None:
        return text, None
    return match[1] + text[match.end() :], unit("dollar" if "$" in match[2] else match[2].strip("."))


def _in_degrees(text: str) -> Value | None:
    r"""``30^\circ`` is 30 with a unit, and the sixth part of pi as well."""
    plain = _number(_DEGREES.sub("", text)) if text.endswith(("\\circ", "}")) else None
    return Value(parse(text), plain.fraction, unit=unit("degrees")) if plain is not None else None


def _temperature(text: str) -> Value | None:
    match = _TEMPERATURE.fullmatch(text)
    plain = _number(match[1]) if match else None
    return replace(plain, unit=Unit(((f"degrees {match[2]}", 1),))) if match and plain else None


def _in_base(text: str) -> Value | None:
    """``101_2``: its digits and the base."""
    match = _BASED.fullmatch(text)
    if match is None:
        return None
    digits = Fraction(match[1])
    return Value(number(digits), digits, base=int(match[2]))


def sum_of_quantities(text: str) -> Value | None:
    """Read ``5 hours 30 minutes`` as a sum, if all of it has one dimension; None for anything else."""
    parts = [(decimal(match[1]), unit(match[2])) for match in _QUANTITY.finditer(text)]
    if len(parts) < 2 or _QUANTITY.sub("", text).strip(" ,"):
        return None
    total, dimensions = Fraction(0), set()
    for amount, measure in parts:
        if amount is None or measure is None or measure.counts:
            return None
        total += amount * measure.size
        dimensions.add(measure.dimensions)
    return Value(number(total), total, unit=Unit(dimensions.pop())) if len(dimensions) == 1 else None


def rational_value(tree: Node) -> Fraction | None:
    """The exact value of a rational expression; None for one that is not, too large, or undefined."""
    try:
        return exact(tree)
    except (TooLarge, Undefined):
        return None


def _number(text: str) -> Value | None:
    r"""Integers, decimals, quotients and ``\frac`` of integers, without the parser."""
    if len(text) > LONGEST:
        raise Unreadable(f"it has more than {LONGEST} characters")
    if _SPACED_THOUSANDS.fullmatch(text):
        text = text.replace(" ", "")
    found = rational(text)
    if found is None:
        found = _fraction(text)
    if found is None:
        return None
    places = _DECIMAL_PLACES.fullmatch(text)
    return Value(number(found), found, places=len(places[1]) if places else -1)


def _fraction(text: str) -> Fraction | None:
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    sign, whole, above, above_digit, below, below_digit = match.groups()
    top, bottom = int(above or above_digit), int(below or below_digit)
    if not bottom:
        return None
    found = Fraction(top, bottom)
    if whole:
        if not 0 <= found < 1:
            return None
        found += int(whole)
    return -found if sign == "-" else found


def _split_unit(text: str, single_letters: bool) -> tuple[str, int, Unit | None]:
    scaled = _SCALE.search(text)
    if scaled is not None and text[: scaled.start()].strip():
        return text[: scaled.start()].strip(), SCALES[scaled[1].casefold()], unit(scaled[2])
    for start, match in enumerate(_UNIT_STARTS.finditer(text)):
        found = unit(text[match.start() :], single_letters) if start < _MOST_STARTS else None
        if found is not None and text[: match.start()].strip():
            return text[: match.start()].strip(), 1, found
    return text, 1, None
