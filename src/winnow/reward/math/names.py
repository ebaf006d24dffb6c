"""Runs of letters as mathematics typed without backslashes: ``2sin x``, ``xy``, ``2pi r``."""

from __future__ import annotations

from winnow.reward.math.tree import Unreadable
from winnow.reward.math.vocabulary import FUNCTIONS, GREEK

# What may be typed without a backslash; the short rest (mu, nu, Re) are as likely products of letters.
_AS_ONE_WORD = frozenset(name for name in FUNCTIONS | GREEK if len(name) > 2) | {"pi", "ln", "infinity"}


def split_letters(word: str) -> list[str]:
    """Take a run of letters apart into functions, Greek names and single letters.

    Raises:
        Unreadable: for a run of four and more letters that no name explains: it is a word.
    """
    if word in _AS_ONE_WORD or len(word) == 1:
        return [word]
    for size in range(len(word) - 1, 1, -1):
        for name in (word[:size], word[-size:]):
            if name in _AS_ONE_WORD:
                rest = word[size:] if word.startswith(name) else word[:-size]
                parts = split_letters(rest)
                return [name, *parts] if word.startswith(name) else [*parts, name]
    if len(word) > 3:
        raise Unreadable(f"{word!r} is a word")
    return list(word)
