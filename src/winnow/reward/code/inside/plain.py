"""Plain data as JSON that keeps types apart: how arguments go in and results come out.

None, booleans, text and integers within 2**53 stand for themselves; everything else is a list that starts
with a tag. Reading builds nothing but these types, so no bytes from a candidate can do more than be wrong.
Ours.
"""

from __future__ import annotations

import collections
from typing import Any

DEEPEST = 100
"""Lists within lists beyond this depth are refused on both sides."""

_EXACT = 2**53
_SEQUENCES: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}
_BUILDERS = {tag: kind for kind, tag in _SEQUENCES.items()}
_MAPPINGS = (dict, collections.Counter, collections.defaultdict, collections.OrderedDict)


class NotPlain(ValueError):
    """A value that is not plain data, or bytes that do not describe one."""


def encode(value: Any, depth: int = 0) -> Any:
    """Return the JSON form of a value.

    The type must be exact: a subclass may lie about its own content and equality. The three mappings of
    `collections` count as dictionaries.

    Raises:
        NotPlain: for any other type, or at depth `DEEPEST`.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_EXACT < value < _EXACT else ["i", hex(value)]
    if kind is float:
        return ["f", value.hex()]
    if kind is complex:
        return ["c", value.real.hex(), value.imag.hex()]
    if kind is bytes or kind is bytearray:
        return ["b", value.hex()]
    if depth >= DEEPEST:
        raise NotPlain(f"nested deeper than {DEEPEST}")
    if kind in _SEQUENCES:
        return [_SEQUENCES[kind], *[encode(item, depth + 1) for item in value]]
    if kind in _MAPPINGS:
        return ["d", *[[encode(key, depth + 1), encode(item, depth + 1)] for key, item in dict.items(value)]]
    raise NotPlain(f"of type {kind.__name__}, which is not plain data")


def decode(form: Any, depth: int = 0) -> Any:
    """Return the value of a JSON form.

    Raises:
        NotPlain: if the form is none that `encode` gives.
    """
    kind = type(form)
    if form is None or kind is bool or kind is str or kind is int:
        return form
    if kind is not list or not form or type(form[0]) is not str or depth > DEEPEST:
        raise NotPlain("not a value in the agreed form")
    tag, *rest = form
    try:
        if tag in _BUILDERS:
            return _BUILDERS[tag](decode(item, depth + 1) for item in rest)
        if tag == "d":
            return {decode(key, depth + 1): decode(item, depth + 1) for key, item in rest}
        if tag == "i":
            return int(_one(rest), 16)
        if tag == "f":
            return float.fromhex(_one(rest))
        if tag == "b":
            return bytes.fromhex(_one(rest))
        if tag == "c":
            real, imaginary = rest
            return complex(float.fromhex(real), float.fromhex(imaginary))
    except (TypeError, ValueError, OverflowError) as error:
        raise NotPlain(f"not a value in the agreed form: {error}") from error
    raise NotPlain("not a value in the agreed form")


def _one(rest: list[Any]) -> str:
    [text] = rest
    if type(text) is not str:
        raise TypeError("text expected")
    return text
