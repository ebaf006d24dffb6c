"""The problems of the code task: a line of English, a signature, and a solution to test against.

A problem is built up from parts that each carry their words, their code and what they compute, so that
the three agree by construction. Levels differ in how many parts are put together. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

Values = Mapping[str, Any]

_PROBES = 6


@dataclass(frozen=True, slots=True)
class Problem:
    """One function to write.

    Attributes:
        level: name of its level, ``"family/number"``.
        words: what it returns, one line.
        names: its parameters, of ``a b`` (integers), ``s t`` (texts) and ``xs`` (a list of integers).
        code: a right expression.
        compute: the right result for values of the parameters.
    """

    level: str
    words: str
    names: tuple[str, ...]
    code: str
    compute: Callable[[Values], Any]


@dataclass(frozen=True, slots=True)
class _Part:
    words: str
    code: str
    compute: Callable[[Values], Any]
    atom: bool = True

    @property
    def inner(self) -> str:
        """Its code as an operand."""
        return self.code if self.atom else f"({self.code})"


_OPERATORS: Mapping[str, tuple[str, Callable[[int, int], int]]] = MappingProxyType(
    {"plus": ("+", int.__add__), "minus": ("-", int.__sub__), "times": ("*", int.__mul__)}
)


def _name(name: str) -> _Part:
    return _Part(name, name, lambda values: values[name])


def _constant(value: int) -> _Part:
    return _Part(str(value), str(value), lambda values: value)


def _operate(left: _Part, word: str, right: _Part) -> _Part:
    sign, apply = _OPERATORS[word]
    comma = "" if left.atom else ","
    code = f"{left.inner if sign == '*' else left.code}{sign}{right.code}"
    return _Part(
        f"{left.words}{comma} {word} {right.words}",
        code,
        lambda values: apply(left.compute(values), right.compute(values)),
        atom=False,
    )


def _arithmetic(rng: Random, steps: int, largest: int) -> _Part:
    names = [_name("a"), _name("b")]
    rng.shuffle(names)
    part = names.pop()
    for _ in range(steps):
        other = names.pop() if names and rng.random() < 0.5 else _constant(rng.randint(2, largest))
        part = _operate(part, rng.choice(list(_OPERATORS)), other)
    return part


def _remainder(part: _Part, divisor: int) -> _Part:
    return _Part(
        f"{part.words}, modulo {divisor}", f"{part.inner}%{divisor}", lambda values: part.compute(values) % divisor
    )


def _text(rng: Random, part: _Part) -> _Part:
    count, old, new = rng.randint(2, 9), rng.choice("abcdefgh"), rng.choice("uvwxyz")
    words, inner, get = part.words, part.inner, part.compute
    return rng.choice(
        [
            _Part(f"{words}, in upper case", f"{inner}.upper()", lambda v: get(v).upper()),
            _Part(f"{words}, reversed", f"{inner}[::-1]", lambda v: get(v)[::-1]),
            _Part(f"{words}, first {count} characters", f"{inner}[:{count}]", lambda v: get(v)[:count]),
            _Part(f"{words}, without the first {count}", f"{inner}[{count}:]", lambda v: get(v)[count:]),
            _Part(f"{words}, last {count} characters", f"{inner}[-{count}:]", lambda v: get(v)[-count:]),
            _Part(f"{words}, {count} times", f"{inner}*{count}", lambda v: get(v) * count, atom=False),
            _Part(
                f"{words}, {old} replaced by {new}",
                f"{inner}.replace('{old}','{new}')",
                lambda v: get(v).replace(old, new),
            ),
            _Part(f"{words}, joined with t", f"{inner}+t", lambda v: get(v) + v["t"], atom=False),
        ]
    )


def _strings(rng: Random, steps: int) -> _Part:
    part = _name("s")
    for _ in range(steps):
        part = _text(rng, part)
    return part


def _elements(rng: Random, change: bool, keep: bool, largest: int = 9) -> _Part:
    """The elements of ``xs``, some of them, changed; code is a generator's inside."""
    number, limit = rng.randint(2, largest), rng.randint(2, largest)
    changes: list[tuple[str, str, Callable[[int], int]]] = [
        (f"plus {number}", f"x+{number}", lambda x: x + number),
        (f"times {number}", f"x*{number}", lambda x: x * number),
        ("squared", "x*x", lambda x: x * x),
    ]
    filters: list[tuple[str, str, Callable[[int], bool]]] = [
        (f"above {limit}", f"x>{limit}", lambda x: x > limit),
        (f"below {limit}", f"x<{limit}", lambda x: x < limit),
        (f"divisible by {limit}", f"x%{limit}==0", lambda x: x % limit == 0),
    ]
    words, code = "elements of xs", "x"
    made: Callable[[int], int] = lambda x: x
    kept: Callable[[int], bool] = lambda x: True
    suffix = ""
    if keep:
        word, test, kept = rng.choice(filters)
        words, suffix = f"{words} {word}", f" if {test}"
    if change:
        word, code, made = rng.choice(changes)
        words = f"{words}, {word}"
    return _Part(words, f"{code} for x in xs{suffix}", lambda v: [made(x) for x in v["xs"] if kept(x)])


def _listed(part: _Part) -> _Part:
    return _Part(part.words, f"[{part.code}]", part.compute)


def _total(rng: Random, part: _Part) -> _Part:
    kinds: list[tuple[str, str, Callable[[list[int]], int]]] = [("sum", "sum({})", sum), ("number", "len([{}])", len)]
    word, code, apply = rng.choice(kinds)
    return _Part(f"{word} of {part.words}", code.format(part.code), lambda v: apply(part.compute(v)))


def _lists(rng: Random, level: int) -> _Part:
    if level == 0:
        change = rng.random() < 0.5
        return _listed(_elements(rng, change, not change, 15))
    if level == 1:
        if rng.random() < 0.5:
            return _listed(_elements(rng, True, True))
        return _total(rng, _elements(rng, False, True))
    part = _total(rng, _elements(rng, True, True))
    return _operate(
        _Part(f"{part.words},", part.code, part.compute), rng.choice(list(_OPERATORS)), _constant(rng.randint(2, 9))
    )


LEVELS: Mapping[str, Callable[[Random], _Part]] = MappingProxyType(
    {
        "arithmetic/0": lambda rng: _arithmetic(rng, 1, 99),
        "arithmetic/1": lambda rng: _arithmetic(rng, 2, 9),
        "arithmetic/2": lambda rng: _remainder(_arithmetic(rng, 2, 9), rng.randint(3, 9)),
        "strings/0": lambda rng: _strings(rng, 1),
        "strings/1": lambda rng: _strings(rng, 2),
        "lists/0": lambda rng: _lists(rng, 0),
        "lists/1": lambda rng: _lists(rng, 1),
        "lists/2": lambda rng: _lists(rng, 2),
    }
)
"""Every level of the task, by name."""


def problems(level: str, rng: Random) -> Iterator[Problem]:
    """Yield problems of one level without end; the same one may come again.

    What comes out the same for most arguments is left out: a constant would solve it.
    """
    family = level.partition("/")[0]
    names = {"arithmetic": ("a", "b"), "strings": ("s", "t"), "lists": ("xs",)}[family]
    while True:
        part = LEVELS[level](rng)
        probe = Random(part.words)
        results = {str(part.compute(values(names, probe))) for _ in range(_PROBES)}
        if len(results) > _PROBES // 2:
            yield Problem(level, part.words, names, part.code, part.compute)


def values(names: tuple[str, ...], rng: Random) -> dict[str, Any]:
    """Draw arguments that tell solutions apart: letters that can be replaced, numbers around the limits."""
    drawn: dict[str, Any] = {}
    for name in names:
        if name == "xs":
            drawn[name] = [rng.randint(-3, 20) for _ in range(rng.randint(4, 9))]
        elif name in "st":
            drawn[name] = "".join(rng.choice("abcdefghABC") for _ in range(rng.randint(9, 16)))
        else:
            drawn[name] = rng.randint(2, 99)
    return drawn
