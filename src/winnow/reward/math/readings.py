"""What an answer may be once it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from winnow.reward.math.regions import Region
from winnow.reward.math.tree import Node
from winnow.reward.math.value import Value


@dataclass(frozen=True, slots=True)
class Choice:
    """A multiple-choice letter, and the text of the choice where it is given."""

    letter: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words, brought to one spelling."""

    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """Something that is compared as it is written: sequences with dots, congruences."""

    text: str


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day: minutes since midnight, and ``am``, ``pm`` or nothing; it may have been meant as a ratio."""

    minutes: int
    half: str = ""
    terms: tuple[Fraction, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Two or more terms, equal to any multiple of them."""

    terms: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers: brackets ``()``, ``[]``, ``(]``, ``[)`` keep order; ``{}`` and none do not.

    ``either`` marks members joined by "or": they are solutions, never the entries of one tuple.
    """

    brackets: str
    members: tuple[Reading, ...]
    either: bool = False

    @property
    def ordered(self) -> bool:
        """Whether the order of the members matters."""
        return self.brackets not in ("", "{}")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple[Reading, ...], ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A name and what it equals: ``x = 5``, ``f(x) = x^2``, ``Area = 12``."""

    name: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Equation:
    """Two expressions set equal, solved for nothing."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Inequality:
    """An inequality in several variables: ``low`` is less than ``high``, or equal if not ``strict``."""

    low: Node
    high: Node
    strict: bool


@dataclass(frozen=True, slots=True)
class Approximation:
    r"""A value and what it is about: ``2\sqrt{2} \approx 2.83``."""

    exact: Reading
    rounded: Reading


Reading = (
    Value
    | Choice
    | Phrase
    | Written
    | Clock
    | Ratio
    | Group
    | Matrix
    | Assignment
    | Equation
    | Inequality
    | Region
    | Approximation
)
