"""The problems of the default task: three reasoning-gym families drawn in compact form, by level.

The families are ``chain_sum``, ``simple_equations`` and ``countdown``. The items have the form that
reasoning-gym gives them (its scorers agree with ours, which a test holds), but are drawn here: levels need
ranges its configuration cannot express, the default task should not need an optional package, and the items
must not change with that package's version, because the shipped policy's pass rates are on record.

A level can be read off its prompt (number of terms, digits, shape of the equation, size of the target),
so that a policy can be good at one level and bad at the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Problem:
    """One question in compact form.

    Attributes:
        level: name of its level, ``"family/number"``.
        text: the prompt, ending with the sign after which the answer starts.
        answer: a right answer; for countdown one of several.
        numbers: countdown only: the numbers to use, each once.
        target: countdown only: what the expression must equal.
    """

    level: str
    text: str
    answer: str
    numbers: tuple[int, ...] = ()
    target: int | None = None

    @property
    def family(self) -> str:
        """Name of the reasoning-gym family."""
        return self.level.partition("/")[0]


Draw = Callable[[Random], tuple[str, str, tuple[int, ...], int | None] | None]


def chain_sum(terms: int, digits: int) -> Draw:
    """Draw ``47+82-5=`` with ``terms`` numbers of ``digits`` digits; the answer may be negative."""
    low, high = (0 if digits == 1 else 10 ** (digits - 1)), 10**digits - 1

    def draw(rng: Random) -> tuple[str, str, tuple[int, ...], int | None]:
        total = rng.randint(low, high)
        text = str(total)
        for _ in range(terms - 1):
            value = rng.randint(low, high)
            sign = rng.choice("+-")
            total += value if sign == "+" else -value
            text += f"{sign}{value}"
        return f"{text}=", str(total), (), None

    return draw


def simple_equations(coefficient: tuple[int, int], constant: tuple[int, int], solution: tuple[int, int]) -> Draw:
    """Draw ``a*x+b=c:``, ``a*x-b=c:`` or ``b-a*x=c:``; a coefficient of 1 is not written."""

    def draw(rng: Random) -> tuple[str, str, tuple[int, ...], int | None]:
        a, b, x = rng.randint(*coefficient), rng.randint(*constant), rng.randint(*solution)
        term = "x" if a == 1 else f"{a}*x"
        left, value = rng.choice([(f"{term}+{b}", a * x + b), (f"{term}-{b}", a * x - b), (f"{b}-{term}", b - a * x)])
        return f"{left}={value}:", str(x), (), None

    return draw


def countdown(low: int, high: int, operators: str, target: tuple[int, int]) -> Draw:
    """Draw ``19,9,3:13=``: three numbers in [low, high] that reach a target in the range, left to right.

    The gold answer is the expression that made the target. A draw outside the range is None.
    """

    def draw(rng: Random) -> tuple[str, str, tuple[int, ...], int | None] | None:
        numbers = [rng.randint(low, high) for _ in range(3)]
        value, text = numbers[0], str(numbers[0])
        added = False
        for number in numbers[1:]:
            operator = rng.choice(operators)
            if operator == "/" and value % number:
                operator = "-"
            if operator in "*/" and added:
                text = f"({text})"
            added = operator in "+-"
            value = {"+": value + number, "-": value - number, "*": value * number}.get(operator, value // number)
            text = f"{text}{operator}{number}"
        if not target[0] <= value <= target[1]:
            return None
        rng.shuffle(numbers)
        return f"{','.join(map(str, numbers))}:{value}=", text, tuple(numbers), value

    return draw


LEVELS: dict[str, Draw] = {
    "chain_sum/0": chain_sum(3, 1),
    "chain_sum/1": chain_sum(4, 1),
    "chain_sum/2": chain_sum(5, 1),
    "chain_sum/3": chain_sum(2, 2),
    "simple_equations/0": simple_equations((1, 1), (1, 12), (1, 12)),
    "simple_equations/1": simple_equations((2, 9), (1, 20), (1, 12)),
    "simple_equations/2": simple_equations((2, 9), (21, 60), (11, 30)),
    "countdown/0": countdown(10, 60, "+-", (61, 180)),
    "countdown/1": countdown(1, 9, "+-", (1, 27)),
    "countdown/2": countdown(2, 9, "+-*", (28, 99)),
    "countdown/3": countdown(10, 29, "+-", (1, 60)),
}
"""Every level of the default task, by name."""


def problems(level: str, rng: Random) -> Iterator[Problem]:
    """Yield problems of one level without end; the same text may come again."""
    draw = LEVELS[level]
    while True:
        drawn = draw(rng)
        if drawn is not None:
            yield Problem(level, *drawn)
