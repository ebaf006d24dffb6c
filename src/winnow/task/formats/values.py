"""JSON with what the standard reader loses: digits beyond a float's, and keys that occur twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

_SURE = 15
"""Decimals of so many characters at most survive as floats."""


class Written(float):
    """A float that keeps its text, where the nearest float is another number.

    It computes and prints as any float; only a gold answer looks at ``text``.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Written:
        """Read ``text``."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.text,)


class Repeated(dict[str, Any]):
    """An object in which a key occurs twice; the last value counts."""

    key = ""


class Parser:
    """Reads JSON texts; ``NaN`` and ``Infinity`` are taken as numbers.

    Attributes:
        repeats: whether any object read so far has a key twice; see `repeated`.
    """

    def __init__(self) -> None:
        self.repeats = False
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_float=_float)

    def parse(self, text: str) -> Any:
        """Read one text.

        Raises:
            JSONDecodeError: if it is not JSON.
            ValueError: if it is nested too deeply or holds a whole number of too many digits.
        """
        try:
            return self._decoder.decode(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except json.JSONDecodeError:
            raise
        except ValueError as error:
            if "digits" in str(error):
                raise ValueError("it holds a whole number of more than 4300 digits; write it as text") from None
            raise

    def _object(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        self.repeats = True
        marked = Repeated(values)
        seen: set[str] = set()
        marked.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return marked


def repeated(value: Any) -> str:
    """Return the key that some object in ``value`` has twice, or an empty string."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Repeated):
            return found.key
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    return ""


def _float(text: str) -> float:
    number = float(text)
    written = repr(number)
    if written == text or (len(text) <= _SURE and "e" not in text and "E" not in text):
        return number
    try:
        return number if Decimal(written) == Decimal(text) else Written(text)
    except ArithmeticError:
        return Written(text)
