"""Judge a countdown answer: an expression that uses the given numbers, each once, and equals the target.

reasoning-gym's scorer hands the answer to sympy's parser, which evaluates it: ``9**9**9`` from a sampling
policy would hang it. This one knows ``+ - * /``, brackets and numbers, computes with exact rationals, and
agrees with that scorer on every answer written with these signs (`//` and `**`, read as Python operators
there, are syntax errors here).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

_TOKEN = re.compile(r"\s*(\d+|[-+*/()])")
_LONGEST = 200


def judge(answer: str, numbers: Sequence[int], target: int) -> str:
    """Say why ``answer`` does not solve the problem; an empty string if it does.

    Args:
        answer: the expression; white space between its signs does not matter.
        numbers: the numbers to use, each exactly once.
        target: the value to reach.
    """
    try:
        tokens = _tokens(answer)
        value = _Parser(tokens).parse()
    except ValueError as error:
        return str(error)
    except ZeroDivisionError:
        return "divides by zero"
    used = sorted(int(token) for token in tokens if token.isdigit())
    if used != sorted(numbers):
        return "does not use each number once"
    return "" if value == target else f"equals {value}, not {target}"


def _tokens(text: str) -> list[str]:
    text = text.strip()
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    tokens, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError("not an expression in + - * / and numbers")
        token = match.group(1)
        if token.isdigit() and str(int(token)) != token:
            raise ValueError("a number starts with 0")
        tokens.append(token)
        place = match.end()
    return tokens


class _Parser:
    """Recursive descent with Python's precedence; unary signs bind tighter than ``*``."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = [*tokens, ""]
        self._place = 0

    def parse(self) -> Fraction:
        value = self._sum()
        if self._next:
            raise ValueError("not an expression in + - * / and numbers")
        return value

    @property
    def _next(self) -> str:
        return self._tokens[self._place]

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1]

    def _sum(self) -> Fraction:
        value = self._product()
        while self._next in ("+", "-"):
            value = value + self._product() if self._take() == "+" else value - self._product()
        return value

    def _product(self) -> Fraction:
        value = self._factor()
        while self._next in ("*", "/"):
            value = value * self._factor() if self._take() == "*" else value / self._factor()
        return value

    def _factor(self) -> Fraction:
        token = self._take() if self._next else ""
        if token in ("+", "-"):
            value = self._factor()
            return -value if token == "-" else value
        if token == "(":
            value = self._sum()
            if self._next != ")":
                raise ValueError("a bracket is not closed")
            self._take()
            return value
        if token.isdigit():
            return Fraction(int(token))
        raise ValueError("not an expression in + - * / and numbers")
