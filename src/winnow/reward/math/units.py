r"""Units of measure behind a number: which words are units, and when two of them measure the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from winnow.reward.math.vocabulary import (
    CHANGES_VALUE,
    NO_UNIT,
    NUMBER_WORDS,
    SHORT_COUNTS,
    UNIT_NOISE,
    UNIT_POWERS,
    UNIT_SHORTHAND,
    UNITS,
)

_LONGEST = 60
_PIECE = re.compile(
    r"(?P<over>per(?![a-z])|/)|(?P<word>[A-Za-z¢€£¥₹$°]+)\.?(?:\s*\^\s*(?P<power>-?\d))?|(?P<other>[^\s()\-])"
)
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_QUOTIENT = re.compile(r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_POWER = re.compile(r"\^ ?\{(-?\d)\}")


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of dimensions and its size.

    Attributes:
        dimensions: such as ``(("length", 1), ("time", -1))``.
        size: in the base units of its dimensions.
        counts: whether a word belongs to it that is no measure (dogs, points).
    """

    dimensions: tuple[tuple[str, int], ...] = ()
    size: Fraction = Fraction(1)
    counts: bool = False


def unit(text: str, single_letters: bool = False) -> Unit | None:
    r"""Read what stands behind a number as a unit, or return None.

    Args:
        text: such as ``cm``, ``\text{km/h}``, ``square meters``, ``miles per hour``, ``cm^2``, ``dogs``.
        single_letters: whether a lone letter is a unit; it is as likely a variable.
    """
    # What is marked as text is no product of variables.
    marked = text.startswith("\\text")
    text = _QUOTIENT.sub(r"\1/\2", _TEXT.sub(r" \1 ", _POWER.sub(r"^\1", text)))
    text = text.replace("\\cdot", " ").strip(" .()[]$")
    lone = len(text) == 1 and text.isalpha() and not (single_letters or marked)
    if not text or len(text) > _LONGEST or lone:
        return None
    powers: Counter[str] = Counter()
    size, counts = Fraction(1), False
    for word, power in _words(re.sub(r"[A-Za-z]+", _spelled_out, text)):
        known = _known(word)
        if known is not None:
            powers[known[0]] += power
            size *= known[1] ** power
        elif _is_count(word, marked):
            counts = True
        elif word.casefold() not in UNIT_NOISE or not (powers or counts):
            return None
    return Unit(tuple(sorted(powers.items())), size, counts) if powers or counts else None


def _words(text: str) -> Iterator[tuple[str, int]]:
    """The words of a unit with their powers; what is no word comes as it is."""
    sign, pending, before = 1, 1, False
    for match in _PIECE.finditer(text):
        word = match["word"] or match["other"]
        if match["over"]:
            sign = -1
        elif word.casefold() in UNIT_POWERS and not (before and word.casefold().endswith("ed")):
            pending = UNIT_POWERS[word.casefold()]
        else:
            yield word, sign * int(match["power"] or pending)
            pending, before = 1, True


def _spelled_out(match: re.Match[str]) -> str:
    return UNIT_SHORTHAND.get(match[0].casefold(), match[0])


def _known(word: str) -> tuple[str, Fraction] | None:
    for form in (word, word.casefold(), word.casefold().removesuffix("s"), word.casefold().removesuffix("es")):
        if form in UNITS:
            return UNITS[form]
    return None


def changes_value(word: str) -> bool:
    """Tell whether a word behind a number says that the number is another one: ``halves``, ``doubled``, ``or``."""
    lowered = word.casefold()
    if lowered.endswith(("fold", "eenth", "eenths", "ieth", "ieths")) or lowered in CHANGES_VALUE or lowered in NO_UNIT:
        return True
    return lowered.removesuffix("s") in NUMBER_WORDS or lowered.removesuffix("es") in NUMBER_WORDS


def _is_count(word: str, marked: bool) -> bool:
    lowered = word.casefold()
    if not word.isalpha() or changes_value(word) or lowered in UNIT_NOISE:
        return False
    # Unmarked words of up to three letters are as likely products of variables.
    return (
        lowered.removesuffix("s") in SHORT_COUNTS
        or (marked and len(word) > 1)
        or (len(word) > 3 and any(vowel in lowered for vowel in "aeiou"))
    )
