"""Gold answers as text, whatever type they had in the file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from winnow.reward.extract import boxed
from winnow.reward.rationals import decimal, quotient
from winnow.task.formats.values import Written

# How GSM8K ends its worked solutions.
MARKER = "####"
_LARGEST_EXPONENT = 400
_LONGEST_SHOWN = 80
_DIGITS = re.compile(r"[-+]?\d{1,100}", re.ASCII)
_LETTER = re.compile(r"\(?[A-Z]\)?")

NUMBERS = ("integers", "decimals", "fractions")
KINDS = (*NUMBERS, "letters", "LaTeX", "text")


def gold_text(value: Any) -> str:
    r"""Turn a gold answer into text: ``7`` to ``"7"``, ``2.50`` to ``"2.5"``, ``145.0`` to ``"145"``.

    No digit of a number is lost. Of a text with the GSM8K marker ``####`` only what follows the last one on its
    line is the gold, and else of a text with a ``\boxed{}`` only what stands in the last one.

    Raises:
        ValueError: if it is no answer: null, a boolean, a list, an object, a number that is not finite,
            or empty text. The message says which.
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool):
        raise ValueError(f"the answer is the boolean {str(value).lower()}, expected text or a number")
    if value is None:
        raise ValueError("the answer is null, expected text or a number")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (float, Decimal)):
        return _from_number(value)
    raise ValueError(f"the answer is of type {type(value).__name__}, expected text or a number")


def shown(gold: str | None) -> str:
    """A gold for a message: quoted, and cut if it is long."""
    if gold is None or len(gold) <= _LONGEST_SHOWN:
        return repr(gold)
    return f"{gold[:_LONGEST_SHOWN]!r}... ({len(gold)} characters)"


def kind(gold: str) -> str:
    """Tell what a gold looks like: one of `KINDS`."""
    if _DIGITS.fullmatch(gold):
        return "integers"
    if decimal(gold) is not None:
        return "decimals" if "." in gold else "integers"
    if quotient(gold) is not None:
        return "fractions"
    if _LETTER.fullmatch(gold):
        return "letters"
    return "LaTeX" if any(sign in gold for sign in "\\^$") else "text"


def kinds(golds: Iterable[str]) -> Mapping[str, int]:
    """Count golds by `kind`, in the order of `KINDS`; kinds that do not occur are left out."""
    counts = dict.fromkeys(KINDS, 0)
    for gold in golds:
        counts[kind(gold)] += 1
    return {name: count for name, count in counts.items() if count}


def _from_number(value: float | Decimal) -> str:
    if isinstance(value, Written):
        number = _exact(value.text)
    elif not math.isfinite(value):
        raise ValueError(f"the answer is the number {value}, expected a finite one")
    else:
        # repr is the shortest text that reads back as the same float.
        number = Decimal(repr(value)) if isinstance(value, float) else value
    # "f" keeps exponents out of the text.
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _exact(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("Infinity")
    if not number.is_finite() or (number and abs(number.adjusted()) > _LARGEST_EXPONENT):
        raise ValueError(
            f"the answer is the number {text[:40]}, whose exponent is beyond {_LARGEST_EXPONENT}; write it as text"
        )
    return number


def _from_text(text: str) -> str:
    _, marked, rest = text.rpartition(MARKER)
    if marked:
        lines = rest.strip().splitlines()
        text = lines[0] if lines else ""
        if not text.strip():
            raise ValueError(f"the answer is empty after {MARKER}")
    elif "boxed" in text:
        text = boxed(text) or text
    if not text.strip():
        raise ValueError("the answer is empty")
    return text.strip()
