"""Gold answers as text, whatever type they had in the file."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

# How GSM8K ends its worked solutions.
MARKER = "####"


def gold_text(value: Any) -> str:
    """Turn a gold answer into text: ``7`` to ``"7"``, ``2.50`` to ``"2.5"``, ``145.0`` to ``"145"``.

    Of a text with the GSM8K marker ``####`` only what follows the last one on its line is the gold.

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
        if not math.isfinite(value):
            raise ValueError(f"the answer is the number {value}, expected a finite one")
        # repr is the shortest text that reads back as the same float; "f" keeps exponents out of it.
        text = format(Decimal(repr(value)) if isinstance(value, float) else value, "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    raise ValueError(f"the answer is of type {type(value).__name__}, expected text or a number")


def _from_text(text: str) -> str:
    _, marked, rest = text.rpartition(MARKER)
    if marked:
        lines = rest.strip().splitlines()
        text = lines[0] if lines else ""
    if not text.strip():
        raise ValueError(f"the answer is empty after {MARKER}" if marked else "the answer is empty")
    return text.strip()
