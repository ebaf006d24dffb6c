"""Readers of answers that are no expressions: choices, words, times, ratios, dots, matrices."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from winnow.reward.math.clean import squeezed
from winnow.reward.math.readings import Choice, Clock, Group, Matrix, Phrase, Ratio, Reading, Written
from winnow.reward.math.regions import EVERYTHING
from winnow.reward.math.sets import Again
from winnow.reward.math.words import choice, phrase, plain

_DOTS = re.compile(r"\\ldots|\.\.\.")
_AS_WRITTEN = re.compile(r"\\equiv|\\pmod(?![A-Za-z])|\\to(?![A-Za-z])")
_MODULUS = re.compile(
    r"\s*,? ?\(? ?(?:\\[pb]?mod|\\text ?\{ ?mod(?:ulo)? ?\}|(?<![A-Za-z\\])mod(?![A-Za-z])) ?\{? ?(\w+) ?\}? ?\)?$"
)
_COMBINATIONS = re.compile(
    r"(?:C|\\text\{C\}) ?\( ?(\d+) ?, ?(\d+) ?\)|(?:\{ ?\})? ?[_^] ?\{?(\d+)\}? ?(?:C|\\text\{C\}) ?_ ?\{?(\d+)\}?",
    re.ASCII,
)
_CLOCK = re.compile(r"(\d{1,2}) ?: ?([0-5]\d)(?: ?([ap])\.? ?m\.?)?", re.IGNORECASE)
_RATIO = re.compile(r"\d+(?:\.\d+)?(?: ?(?::|to) ?\d+(?:\.\d+)?)+")
_MATRIX = re.compile(
    r"(?:[(\[|] ?)?\\begin ?\{([pbvBV]?matrix|array)\}(?: ?\{[lcr| ]+\})?(.*?)\\end ?\{\1\}(?: ?[)\]|])?", re.DOTALL
)
ROW_ENDS = re.compile(r"\\\\(?:\[[^\]]*\])?|\\cr(?![A-Za-z])")
_INTRODUCTION = re.compile(
    r"(?:\\text\s*\{[^{}]*(?:is|are|be|equals|:)\s*\}|(?:the )?(?:final )?answer(?: is|:)) ?:? ?(.+)", re.IGNORECASE
)
_REALS = frozenset({"all real numbers", "all reals", "the set of all real numbers", "real numbers", "all real x"})


def choice_letter(text: str, again: Again) -> Reading | None:
    """``C``, ``(C)``, ``C) 42``."""
    found = choice(text)
    return Choice(*found) if found is not None else None


def as_written(text: str, again: Again) -> Reading | None:
    """Sequences with dots, congruences and limits: as numbers, half of them would be thrown away."""
    if _DOTS.search(text):
        return Written(squeezed(_DOTS.sub("...", text)).strip(","))
    if _AS_WRITTEN.search(text) is None:
        return None
    return Written(squeezed(_MODULUS.sub(r" mod \1", text.replace("\\equiv ", "\\equiv"))))


def time_or_ratio(text: str, again: Again) -> Reading | None:
    """``8:15`` is a time (two digits of minutes), ``2:1`` and ``2 to 1`` are ratios."""
    if ":" not in text and " to" not in text and "to}" not in text:
        return None
    text = plain(text)
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        return Clock(int(clock[1]) * 60 + int(clock[2]), (clock[3] or "").casefold(), _terms(clock[0]))
    if _RATIO.fullmatch(text) is None:
        return None
    terms = _terms(text)
    return Ratio(terms) if terms else None


def _terms(text: str) -> tuple[Fraction, ...]:
    """The shares of a ratio, which add up to one; none if they are all zero, or no numbers."""
    if _RATIO.fullmatch(text) is None:
        return ()
    terms = [Fraction(term) for term in re.split(r" ?(?::|to) ?", text)]
    total = sum(terms)
    return tuple(term / total for term in terms) if total else ()


def combinations(text: str) -> str:
    """``C(10,3)`` and its kin as a binomial coefficient; an empty string for anything else."""
    match = _COMBINATIONS.fullmatch(text)
    return f"\\binom{{{match[1] or match[3]}}}{{{match[2] or match[4]}}}" if match else ""


def introduced(text: str) -> str | None:
    r"""What follows an introduction: ``\text{The answer is } 5``."""
    match = _INTRODUCTION.fullmatch(text)
    return match[1] if match else None


def in_words(text: str, again: Again) -> Reading | None:
    """Words, among them those for sets that have a sign of their own."""
    words = plain(text).casefold()
    if words in _REALS or text in ("\\mathbb{R}", "\\mathbb R"):
        return EVERYTHING
    if words == "empty set" or text == "\\emptyset":
        return Group("{}", ())
    found = phrase(text)
    return Phrase(found) if found is not None else None


def matrix(text: str, entry: Callable[[str], Reading]) -> Reading | None:
    """A matrix or array, whatever its brackets."""
    match = _MATRIX.fullmatch(text)
    if match is None:
        return None
    rows = [row.strip() for row in ROW_ENDS.split(match[2].replace("\\hline", "")) if row.strip()]
    return Matrix(tuple(tuple(entry(cell) for cell in row.split("&")) for row in rows))
