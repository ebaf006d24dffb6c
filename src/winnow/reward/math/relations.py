"""The sides of equations and inequalities: which one names what, and what a chain of inequalities says."""

from __future__ import annotations

import re

from winnow.reward.math.inequalities import region
from winnow.reward.math.regions import Region, intersection
from winnow.reward.math.syntax import parse
from winnow.reward.math.tree import Node, Unreadable
from winnow.reward.math.value import value

LABEL = re.compile(
    r"""
      \\(?:vec|hat|bar|overrightarrow|text)\ ?\{[A-Za-z]+\}(?:_\w)?
    | \\?[A-Za-z]+'*(?:_(?:\w|\{[^{}]*\}))?'*(?:\ ?\([\w,\ ]*\))?
    | \\frac\ ?\{d[a-z]?\}\ ?\{d[a-z]\}
    | [A-Z]{2,4}
    | \|[A-Z]{1,2}\|
    | m?\ ?\\angle\ ?[A-Z{}\ ]+
    | (?:\\text\s*\{[^{}]*\}\s*)+(?:_\{?\w+\}?)?
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[a-z]{2,}|\\(?:sqrt|sin|cos|tan|ln|log|pi|infty|mathbb|emptyset)")


def is_label(text: str) -> bool:
    """Tell whether one side of an equation only names what the other side is: ``x``, ``f(x)``, ``AB``, ``Area``."""
    if not LABEL.fullmatch(text):
        return False
    if text.startswith("\\text") or (text.isalpha() and len(text) > 3):
        return True
    return not _WORD.match(text) and text not in ("e", "i", "\\pi", "\\e")


def chain(sides: list[str], signs: list[str]) -> Region | tuple[Node, str, Node]:
    r"""Read ``1 < x \le 2`` and its kin.

    Returns:
        A region, or the two sides and the sign of one inequality in several variables.

    Raises:
        Unreadable: if it is neither.
    """
    trees = [_side(text) for text in sides]
    if len(signs) == 1 and len(trees[0].symbols() | trees[1].symbols()) > 1:
        return trees[0], signs[0], trees[1]
    found: Region | None = None
    for left, sign, right in zip(trees, signs, trees[1:], strict=False):
        step = region(left, sign, right)
        if step is None:
            raise Unreadable("the inequality cannot be solved")
        if found is not None and found.name != step.name:
            raise Unreadable("the inequality is about two variables")
        found = step if found is None else intersection(found, step)
    if found is None:
        raise Unreadable("there is no inequality")
    return found


def _side(text: str) -> Node:
    found = value(text)
    return parse(text) if found.percent else found.tree
