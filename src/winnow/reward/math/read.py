r"""From the text of an answer to a reading of it, see `winnow.reward.math.readings`.

Each reader knows one kind of answer and returns None for anything else; the first that does not decides. What none
of them knows is a single value.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from winnow.reward.math import statements, written
from winnow.reward.math.clean import clean
from winnow.reward.math.parts import brackets, commas, joined
from winnow.reward.math.readings import Assignment, Group, Reading
from winnow.reward.math.regions import Region, intersection, union
from winnow.reward.math.sets import Again, condition, set_operation
from winnow.reward.math.tree import Unreadable
from winnow.reward.math.value import sum_of_quantities, value
from winnow.reward.math.words import plain
from winnow.reward.rationals import LONGEST

_MIXED = re.compile(r"([-+]?\d+) and (\d+/\d+|\\frac\{\d+\}\{\d+\})")
_SIGNS = re.compile(r"\\(?:pm|mp)(?![A-Za-z])")
_NUMBERED = re.compile(r"_\{?\d\}?$")
_POINT = re.compile(r"[ABD-Z]'? ?(\(.*\))")
_CASES = re.compile(r"(?:\\\{ ?)?\\begin ?\{(cases|aligned|array)\}(?: ?\{[lcr]\})?([^&]*)\\end ?\{\1\}")
_DEEPEST = 6


@functools.lru_cache(maxsize=16384)
def read(text: str) -> Reading:
    """Read a cleaned answer.

    Raises:
        Unreadable: if nothing here can read it, or if it contradicts itself (``5 = 6``).
    """
    return _read(text, 0)


def _read(text: str, depth: int) -> Reading:
    text = _unwrapped(text.strip())
    if not text or depth > _DEEPEST:
        raise Unreadable("it is nested too deeply" if text else "something is missing")
    if len(text) > LONGEST:
        raise Unreadable(f"it has more than {LONGEST} characters")

    def again(inner: str) -> Reading:
        return _read(inner, depth + 1)

    for reader in _READERS:
        found = reader(text, again)
        if found is not None:
            return found
    return value(text)


def _unwrapped(text: str) -> str:
    """A text without brackets around the whole of it, where a pair of brackets stands in another."""
    found = brackets(text)
    while found is not None and found[0] == "()" and (inner := brackets(found[1])) is not None:
        text, found = found[1], inner
    return text


def _matrix(text: str, again: Again) -> Reading | None:
    return written.matrix(text, lambda entry: again(clean(entry)))


def _introduced(text: str, again: Again) -> Reading | None:
    inner = written.introduced(text)
    return again(clean(inner)) if inner is not None else None


def _joined(text: str, again: Again) -> Reading | None:
    mixed = _MIXED.fullmatch(plain(text))
    if mixed is not None:
        return value(f"{mixed[1]} {mixed[2]}")
    quantities = sum_of_quantities(text)
    if quantities is not None:
        return quantities
    word, pieces = joined(text)
    if not word or len(pieces) < 2:
        return None
    found = [again(piece) for piece in pieces]
    return _together(found, both=True) if word == "and" else _either(found)


def _commas(text: str, again: Again) -> Reading | None:
    pieces = commas(text)
    return _together([again(piece) for piece in pieces], both=False) if len(pieces) > 1 else None


def _either(found: list[Reading]) -> Reading:
    """Answers joined by "or"."""
    together = _together(found, both=False, comma=False)
    if isinstance(together, Group):
        return replace(together, either=True)
    if isinstance(together, Assignment) and isinstance(together.reading, Group):
        return replace(together, reading=replace(together.reading, either=True))
    return together


def _together(found: list[Reading], both: bool, comma: bool = True) -> Reading:
    """Several answers at once: inequalities become one region, anything else a list.

    A comma means "or" between ranges that do not meet and "and" between ranges that overlap; where one range holds
    the other, it is not known what it means.
    """
    regions = [reading for reading in found if isinstance(reading, Region)]
    if len(regions) < len(found):
        return _list(found)
    if len({region.name for region in regions}) > 1:
        return Group("", tuple(found))
    common = functools.reduce(intersection, regions)
    if both:
        return common
    if comma and common.intervals:
        if any(common.same(region) for region in regions):
            raise Unreadable("one of its inequalities says what another does")
        return common
    return union((interval for region in regions for interval in region.intervals), regions[0].name)


def _list(found: list[Reading]) -> Reading:
    """A bare list; ``x = 1, 2``, ``x = 1, x = 2`` and ``x_1 = 1, x_2 = 2`` are lists of values of x."""
    members = _flat(found).members
    names = {_NUMBERED.sub("", member.name) for member in members if isinstance(member, Assignment)}
    if len(names) == 1 and isinstance(members[0], Assignment):
        values = [member.reading if isinstance(member, Assignment) else member for member in members]
        written = [member.name for member in members if isinstance(member, Assignment)]
        # "x = 2, x = 3" are two solutions.
        either = len(written) > len(set(written))
        return Assignment(names.pop(), _flat(values, either))
    return Group("", members)


def _flat(found: list[Reading], either: bool = False) -> Group:
    """A list without lists in it."""
    members: list[Reading] = []
    for reading in found:
        members.extend(reading.members if isinstance(reading, Group) and reading.brackets == "" else [reading])
    return Group("", tuple(members), either)


def _bracketed(text: str, again: Again) -> Reading | None:
    found = brackets(text)
    if found is None:
        return None
    kind, inner = found
    if kind == "{}":
        return _set(inner, again)
    pieces = commas(inner, inside=True)
    if len(pieces) > 1:
        return Group(kind, tuple(again(piece) for piece in pieces))
    return again(inner) if kind == "()" and brackets(inner) is not None else None


def _set(inner: str, again: Again) -> Reading:
    if not inner:
        return Group("{}", ())
    condition_text = condition(inner)
    contents = again(inner if condition_text is None else condition_text)
    if condition_text is not None and isinstance(contents, Region):
        return contents
    if isinstance(contents, Assignment):
        contents = contents.reading
    if not isinstance(contents, Group) or contents.brackets:
        return Group("{}", (contents,))
    # Values of several variables are one solution, not a set of numbers.
    named = all(isinstance(member, Assignment) for member in contents.members)
    return contents if named else Group("{}", contents.members)


def _point(text: str, again: Again) -> Reading | None:
    """A point with its name: ``P(3, -2)``."""
    match = _POINT.fullmatch(text)
    found = brackets(match[1]) if match else None
    return again(match[1]) if match and found and len(commas(found[1], inside=True)) > 1 else None


def _system(text: str, again: Again) -> Reading | None:
    """Statements one below the other."""
    match = _CASES.fullmatch(text)
    if match is None:
        return None
    rows = [row.strip(" ,;") for row in written.ROW_ENDS.split(match[2]) if row.strip(" ,;")]
    if not all("=" in row for row in rows):
        return None
    return _list([again(row) for row in rows])


def _plus_minus(text: str, again: Again) -> Reading | None:
    if not _SIGNS.search(text):
        return None
    both = [_with_signs(text, "+", "-"), _with_signs(text, "-", "+")]
    return Group("", tuple(again(side) for side in both))


def _with_signs(text: str, plus: str, minus: str) -> str:
    return _SIGNS.sub(lambda match: plus if match[0] == "\\pm" else minus, text).strip()


_READERS = (
    written.choice_letter,
    written.as_written,
    written.time_or_ratio,
    _introduced,
    written.in_words,
    _system,
    _matrix,
    _joined,
    _commas,
    statements.approximation,
    statements.statement,
    set_operation,
    _bracketed,
    _point,
    _plus_minus,
)
