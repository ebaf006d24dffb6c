"""Whether an answer equals a gold, reading by reading."""

from __future__ import annotations

from winnow.reward.math.clean import squeezed
from winnow.reward.math.equality import same_values
from winnow.reward.math.exact import TooLarge, Undefined
from winnow.reward.math.read import read
from winnow.reward.math.readings import (
    Approximation,
    Assignment,
    Choice,
    Clock,
    Equation,
    Group,
    Inequality,
    Matrix,
    Ratio,
    Reading,
)
from winnow.reward.math.regions import Region
from winnow.reward.math.sets import as_region
from winnow.reward.math.tree import Node, Unreadable, difference, over
from winnow.reward.math.value import Value, value
from winnow.reward.math.words import choice, letters, one_choice
from winnow.reward.math.written import combinations
from winnow.reward.rationals import LONGEST

# Matching unordered members takes their product of comparisons.
_MOST_MEMBERS = 50


def equal(gold: str, answer: str) -> bool:
    """Tell whether a cleaned answer equals a cleaned gold; the same text always does."""
    if squeezed(gold) == squeezed(answer):
        return True
    if not answer or len(answer) > LONGEST:
        return False
    several = letters(gold)
    if several is not None and (found := letters(answer)) is not None:
        return found == several
    wanted = _try(gold)
    if isinstance(wanted, Choice) and not wanted.rest:
        # A lower-case letter answers a question with choices, and is a variable elsewhere.
        given = choice(answer) or (choice(answer.upper()) if len(answer) == 1 else None)
        return given is not None and given[0] == wanted.letter and one_choice(given[1])
    if wanted is None:
        # What only math-verify reads as a gold, only it can judge.
        from winnow.reward.math import library

        return library.equal(gold, answer)
    got = _try(answer)
    if got is not None and same(wanted, got):
        return True
    return _with_letter_unit(wanted, answer) or (isinstance(wanted, Value) and _as_binomial(wanted, answer))


def _try(text: str) -> Reading | None:
    try:
        return read(text)
    except Unreadable:
        return None


def _with_letter_unit(gold: Reading, answer: str) -> bool:
    """Whether ``18 h`` is right for 18 hours: a lone letter is a unit where the gold has that unit."""
    if not isinstance(gold, Value) or gold.unit is None or gold.unit.counts:
        return False
    try:
        found = value(answer, single_letters=True)
    except Unreadable:
        return False
    return found.unit is not None and found.unit.dimensions == gold.unit.dimensions and same_values(gold, found)


def _as_binomial(gold: Value, answer: str) -> bool:
    """Whether ``C(10,3)`` is right for a number; elsewhere it is a point named C."""
    found = _try(combinations(answer))
    return found is not None and same(gold, found)


def same(gold: Reading, answer: Reading) -> bool:
    """Tell whether two readings are the same answer."""
    if isinstance(gold, Approximation):
        return same(gold.exact, answer) or same(gold.rounded, answer)
    if isinstance(answer, Approximation):
        return same(gold, answer.exact) or same(gold, answer.rounded)
    if isinstance(gold, Value) and isinstance(answer, Value):
        return same_values(gold, answer)
    if isinstance(gold, Equation | Assignment) or isinstance(answer, Equation | Assignment):
        return _same_equations(gold, answer)
    if isinstance(gold, Region) or isinstance(answer, Region):
        return _same_regions(gold, answer)
    if isinstance(gold, Inequality) and isinstance(answer, Inequality):
        return _same_inequalities(gold, answer)
    if isinstance(gold, Group) or isinstance(answer, Group):
        return _same_groups(gold, answer)
    if isinstance(gold, Matrix) and isinstance(answer, Matrix):
        return _same_matrices(gold, answer)
    if isinstance(gold, Ratio):
        return _same_ratios(gold, answer)
    if isinstance(gold, Choice):
        return _same_choices(gold, answer)
    return gold == answer


def _same_ratios(gold: Ratio, answer: Reading) -> bool:
    if isinstance(answer, Value):
        return _is_quotient(gold, answer)
    return gold == (Ratio(answer.terms) if isinstance(answer, Clock) and not answer.half else answer)


def _is_quotient(gold: Ratio, answer: Value) -> bool:
    # An integer says nothing of a ratio; the fraction 3/4 may be 3:4.
    fraction = answer.fraction
    if len(gold.terms) != 2 or fraction is None or fraction.denominator == 1 or not gold.terms[1]:
        return False
    return fraction == gold.terms[0] / gold.terms[1]


def _same_choices(gold: Choice, answer: Reading) -> bool:
    if isinstance(answer, Choice):
        return gold.letter == answer.letter and (not answer.rest or _same_rests(gold.rest, answer.rest))
    rest = _try(gold.rest)
    return rest is not None and same(rest, answer)


def _same_rests(gold: str, answer: str) -> bool:
    wanted, got = _try(gold), _try(answer)
    same_text = squeezed(gold) == squeezed(answer)
    return same_text or (wanted is not None and got is not None and same(wanted, got))


def _same_equations(gold: Reading, answer: Reading) -> bool:
    if isinstance(gold, Assignment) and isinstance(answer, Assignment):
        if gold.name == answer.name:
            return same(gold.reading, answer.reading)
    elif isinstance(gold, Assignment) and not isinstance(answer, Equation):
        return _same_assigned(gold, answer)
    elif isinstance(answer, Assignment) and not isinstance(gold, Equation):
        return _same_assigned(answer, gold)
    left, right = _as_equation(gold), _as_equation(answer)
    if left is None or right is None:
        return False
    from winnow.reward.math.identity import constant_ratio

    return constant_ratio(left, right) is not None


def _same_assigned(assignment: Assignment, other: Reading) -> bool:
    if isinstance(other, Region):
        return _same_regions(assignment, other)
    if isinstance(other, Group) and any(isinstance(member, Assignment) for member in other.members):
        return False
    return same(other, assignment.reading)


def _as_equation(reading: Reading) -> Node | None:
    """The left side minus the right side over a common denominator, which is left out."""
    if isinstance(reading, Equation):
        return over(difference(reading.left, reading.right))[0]
    if isinstance(reading, Assignment) and isinstance(reading.reading, Value) and reading.reading.tree.symbols():
        name = Node("symbol", name=reading.name.lstrip("\\"))
        return over(difference(name, reading.reading.tree))[0]
    return None


def _same_regions(gold: Reading, answer: Reading) -> bool:
    try:
        return as_region(gold).same(as_region(answer))
    except (Unreadable, TooLarge, Undefined):
        return False


def _same_inequalities(gold: Inequality, answer: Inequality) -> bool:
    from winnow.reward.math.identity import constant_ratio

    if gold.strict != answer.strict:
        return False
    ratio = constant_ratio(difference(gold.high, gold.low), difference(answer.high, answer.low))
    return ratio is not None and ratio.imag == 0 and ratio.real > 0


def _same_groups(gold: Reading, answer: Reading) -> bool:
    if not isinstance(gold, Group) or not isinstance(answer, Group):
        group, single = (gold, answer) if isinstance(gold, Group) else (answer, gold)
        # The set of one solution is that solution.
        return (
            isinstance(group, Group)
            and not group.ordered
            and len(group.members) == 1
            and same(group.members[0], single)
        )
    if gold.ordered != answer.ordered and (gold.either or answer.either):
        return False
    left, right = _without_names(gold, answer)
    nameless = (*left, *right) == (*gold.members, *answer.members)
    if nameless and len(left) == 2 and {gold.brackets, answer.brackets} == {"", "[]"}:
        return False
    if gold.brackets != answer.brackets and gold.ordered and answer.ordered:
        return False
    if "{}" in (gold.brackets, answer.brackets):
        if gold.ordered or answer.ordered:
            return False
        left, right = _distinct(left), _distinct(right)
    if len(left) != len(right) or len(left) > _MOST_MEMBERS:
        return False
    if gold.ordered or answer.ordered:
        return all(same(one, other) for one, other in zip(left, right, strict=True))
    return _match(left, right)


def _match(left: list[Reading], right: list[Reading]) -> bool:
    remaining = list(right)
    for member in left:
        found = next((other for other in remaining if same(member, other)), None)
        if found is None:
            return False
        remaining.remove(found)
    return True


def _distinct(members: list[Reading]) -> list[Reading]:
    kept: list[Reading] = []
    for member in members[: _MOST_MEMBERS + 1]:
        if not any(same(member, other) for other in kept):
            kept.append(member)
    return kept


def _without_names(gold: Group, answer: Group) -> tuple[list[Reading], list[Reading]]:
    """Members for comparison: ``x = 1, y = 2`` against ``(1, 2)`` loses its names and is put in their order."""
    named = [all(isinstance(member, Assignment) for member in group.members) for group in (gold, answer)]
    if named[0] == named[1]:
        return list(gold.members), list(answer.members)
    return _values(gold), _values(answer)


def _values(group: Group) -> list[Reading]:
    assigned = [member for member in group.members if isinstance(member, Assignment)]
    if not assigned or len(assigned) < len(group.members):
        return list(group.members)
    return [member.reading for member in sorted(assigned, key=lambda member: member.name)]


def _same_matrices(gold: Matrix, answer: Matrix) -> bool:
    if [len(row) for row in gold.rows] != [len(row) for row in answer.rows]:
        return False
    pairs = zip(gold.rows, answer.rows, strict=True)
    return all(same(one, other) for left, right in pairs for one, other in zip(left, right, strict=True))
