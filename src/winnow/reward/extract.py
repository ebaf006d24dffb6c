"""Where the answer stands in a completion: one set of extractors for training and evaluation.

Every extractor takes the completion and returns the answer as text, or None where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from winnow.reward.rationals import DECIMAL

Extractor = Callable[[str], str | None]

# A sign belongs to the number unless an operand stands before it ("7-5" ends in 5, "= -5" in -5).
_NUMBER = re.compile(rf"(?<!\w)(?:(?<![\w)])[-−+])?{DECIMAL}(?:/{DECIMAL})?", re.ASCII)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")


def whole(completion: str) -> str | None:
    """The completion itself, without white space around it; None if nothing is left."""
    return completion.strip() or None


def last_number(completion: str) -> str | None:
    """The last integer, decimal or fraction in the completion, as it is written there."""
    found = None
    for match in _NUMBER.finditer(completion):
        found = match[0]
    return found


def boxed(completion: str) -> str | None:
    r"""The content of the last ``\boxed{...}``, by counting braces.

    The model may correct itself, so the last box wins. A last box that never closes (cut at the token
    limit) is no answer, even if an earlier one closed.
    """
    openings = list(_BOX.finditer(completion))
    if not openings:
        return None
    start = openings[-1].end()
    depth, position = 1, start
    while position < len(completion):
        character = completion[position]
        if character == "\\":
            position += 2
            continue
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return completion[start:position].strip() or None
        position += 1
    return None


def marker(completion: str) -> str | None:
    """What follows the last ``####`` on its line (the GSM8K form); text on later lines is ignored."""
    _, found, rest = completion.rpartition("####")
    if not found:
        return None
    lines = rest.strip().splitlines()
    return lines[0].strip() or None if lines else None


EXTRACTORS: Mapping[str, Extractor] = {
    "whole": whole,
    "last_number": last_number,
    "boxed": boxed,
    "marker": marker,
}
