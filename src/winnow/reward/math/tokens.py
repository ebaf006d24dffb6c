r"""LaTeX (or plain typing) cut into tokens: numbers, names, commands, text, operators, brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from winnow.reward.math.tree import Unreadable

# Longer expressions are no answers to a question with an answer, and cost time.
MOST_TOKENS = 400

_TOKEN = re.compile(
    r"""
      (?P<number>
          \d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)? | \d*\.\d*\\(?:overline|bar)\{\d+\} | \d*\.\d*\\dot\{?\d\}?
          | \d+(?:\.\d+)?(?:[eE][-+]?\d+(?![\w.]))? | \.\d+ )
    | \\text\s*\{(?P<text>[^{}]*)\}
    | (?P<command>\\(?:[A-Za-z]+|[{}|%$]))
    | (?P<name>[A-Za-z]+)
    | (?P<sign>\*\*|[-+*/^_!%|()\[\]{}<>=,;:'&])
    | (?P<space>\s+)
    """,
    re.VERBOSE | re.ASCII,
)
_REPEATING = re.compile(r"(\d*)\.(\d*)\\(?:overline|bar|dot)\{?(\d+)\}?", re.ASCII)
_SCIENTIFIC = re.compile(r"([\d.]+)[eE]([-+]?\d+)", re.ASCII)

# Beyond this exponent the digits would fill memory; such numbers are compared as they are written.
_LARGEST_EXPONENT = 10_000


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text: its kind, the text itself, the value of a number, and whether a space came before it."""

    kind: str
    text: str
    value: Fraction = Fraction(0)
    spaced: bool = False


def tokens(text: str) -> list[Token]:
    """Cut a cleaned text into tokens.

    Raises:
        Unreadable: for a character that belongs to no token, or for more than `MOST_TOKENS` tokens.
    """
    found: list[Token] = []
    position, spaced = 0, False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.end() == position:
            raise Unreadable(f"{text[position]!r} is not mathematics")
        position = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            word = match[kind].strip()
            found.append(Token(kind, word, _value(word) if kind == "number" else Fraction(0), spaced))
        spaced = kind == "space"
        if len(found) > MOST_TOKENS:
            raise Unreadable(f"more than {MOST_TOKENS} symbols")
    return found


def _value(text: str) -> Fraction:
    repeating = _REPEATING.fullmatch(text)
    if repeating is not None:
        whole, fixed, period = repeating.groups()
        tail = Fraction(int(period), 10 ** len(period) - 1)
        return int(whole or 0) + (int(fixed or 0) + tail) / Fraction(10) ** len(fixed)
    scientific = _SCIENTIFIC.fullmatch(text)
    if scientific is not None:
        if len(scientific[2]) > 6 or abs(int(scientific[2])) > _LARGEST_EXPONENT:
            raise Unreadable(f"the exponent of {text} is too large")
        return Fraction(scientific[1]) * Fraction(10) ** int(scientific[2])
    return Fraction(text.replace(",", ""))
