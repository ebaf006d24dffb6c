"""Golds, checked once: can an answer be judged against them at all?"""

from __future__ import annotations

import functools

from winnow.reward.extract import strict_answer
from winnow.reward.math.clean import clean
from winnow.reward.math.equality import has_value
from winnow.reward.math.judge import same
from winnow.reward.math.read import read
from winnow.reward.math.tree import Unreadable
from winnow.reward.math.value import Value
from winnow.reward.math.words import remark
from winnow.reward.rationals import decimal


@functools.lru_cache(maxsize=16384)
def prepared(gold: str) -> tuple[str, str]:
    """Clean a gold and check it, once for its many completions.

    Returns:
        The cleaned text, and why no answer can be judged against it (empty if one can).
    """
    if decimal(gold) is not None:
        return gold.strip(), ""
    text = clean(gold)
    return text, _problem(gold, text)


def _problem(gold: str, text: str) -> str:
    if not text:
        return "is empty"
    if decimal(text) is not None:
        return ""
    if not any(character.isalnum() or character in "∞∅ℝ\\" for character in text):
        return "holds neither letters nor digits"
    boxed = strict_answer(f"\\boxed{{{gold}}}")
    if boxed is None or clean(boxed) != text:
        return "does not survive being put in a box: its braces or dollar signs do not match"
    problem = remark(text)
    if problem:
        return problem
    try:
        reading = read(text)
    except Unreadable as error:
        return _foreign(text, str(error))
    if isinstance(reading, Value) and not has_value(reading):
        return "has no value"
    return "" if same(reading, reading) else "is not equal to itself"


def _foreign(text: str, problem: str) -> str:
    from winnow.reward.math import library

    found = library.expression(text)
    if found is not None and found == found:
        return ""
    return f"cannot be read as mathematics: {problem}"
