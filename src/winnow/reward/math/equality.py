"""When two values are equal: exactly, whatever their form, with percent signs and units taken into account."""

from __future__ import annotations

from fractions import Fraction

from winnow.reward.math.exact import TooLarge, Undefined
from winnow.reward.math.tree import Node, number
from winnow.reward.math.units import Unit
from winnow.reward.math.value import Value

# A decimal of fewer digits says too little about the number it was rounded from.
_FEWEST_DIGITS = 3


def same_values(gold: Value, answer: Value) -> bool:
    r"""Tell whether an answer has the value of the gold.

    - Numbers are compared exactly: 0.333 is not 1/3, and 1.414 is not the square root of 2. Only where the gold is
      a decimal of three digits or more is an irrational answer right that rounds to it (``\sqrt{2}`` for 1.414).
    - 35% is 35 as well as 0.35, since a gold may be written either way; two percentages have to be equal. Only a gold
      of 1 or more may have lost its sign: 0.5% is not 0.5.
    - Digits in a base are equal to the same digits in the same base.
    - A unit may be left out on either side; two units of measure have to agree after conversion, and a word that
      is no measure (5 dogs) does not matter.
    - Numbers too large to evaluate are compared by form.
    """
    if gold.base != answer.base or not _same_measure(gold.unit, answer.unit):
        return False
    if gold.percent != answer.percent:
        percent, plain = (gold, answer) if gold.percent else (answer, gold)
        if plain.unit is not None and not plain.unit.counts:
            return False
        signless = gold.fraction is None or abs(gold.fraction) >= 1
        return _equal(percent, plain, Fraction(1, 100)) or (signless and _equal(percent, plain, Fraction(1)))
    if gold.unit is None or answer.unit is None or not (gold.unit.dimensions and answer.unit.dimensions):
        return _equal(gold, answer, Fraction(1)) or rounds_from(gold, answer)
    return _equal(gold, answer, gold.unit.size / answer.unit.size)


def _same_measure(gold: Unit | None, answer: Unit | None) -> bool:
    if gold is None or answer is None or gold.counts or answer.counts:
        return True
    return gold.dimensions == answer.dimensions


def _equal(left: Value, right: Value, factor: Fraction) -> bool:
    """Whether left times the factor equals right."""
    if left.fraction is not None and right.fraction is not None and left.fraction * factor == right.fraction:
        return True
    if left.fraction is not None and right.fraction is not None and _plain(left) and _plain(right):
        return False
    if left.tree == right.tree:
        return factor == 1
    if left.fraction is not None and right.fraction is not None and left.unit == right.unit:
        return False
    scaled = left.tree if factor == 1 else Node("*", (number(factor), left.tree))
    from winnow.reward.math.identity import same_value

    try:
        return same_value(scaled, right.tree)
    except (TooLarge, Undefined):
        return False


def _plain(found: Value) -> bool:
    return found.tree.op == "number"


def has_value(found: Value) -> bool:
    """Tell whether a value is a number, infinite, in variables, or at least too large to tell; 1/0 is not."""
    if found.fraction is not None or any(node.op in ("symbol", "constant") for node in found.tree.walk()):
        return True
    from winnow.reward.math.numeric import evaluate

    try:
        evaluate(found.tree)
    except TooLarge:
        return True
    except Undefined:
        return False
    return True


def rounds_from(gold: Value, answer: Value) -> bool:
    """Tell whether a decimal gold is what an irrational answer rounds to."""
    if gold.places < 0 or answer.fraction is not None or answer.tree.symbols() or gold.fraction is None:
        return False
    digits = len(str(abs(gold.fraction.numerator * 10**gold.places // gold.fraction.denominator)))
    return digits >= _FEWEST_DIGITS and rounds_to(answer, gold)


def rounds_to(exact: Value, rounded: Value) -> bool:
    """Tell whether a number lies within half a unit of the last place of a decimal (or integer)."""
    if rounded.fraction is None:
        return False
    half = Fraction(1, 2 * 10 ** max(rounded.places, 0))
    if exact.fraction is not None:
        return abs(exact.fraction - rounded.fraction) <= half
    if exact.tree.symbols():
        return False
    from winnow.reward.math.numeric import evaluate

    try:
        found = evaluate(exact.tree)
    except (TooLarge, Undefined):
        return False
    gap = abs(found.value.real * rounded.fraction.denominator - rounded.fraction.numerator)
    return found.real and bool(gap * half.denominator <= half.numerator * rounded.fraction.denominator)
