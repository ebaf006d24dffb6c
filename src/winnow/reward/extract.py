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
_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:(\{)|(-?\d[\d,.]*(?<![,.])|[A-Za-z](?![A-Za-z])))")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
# Bounded runs: an unbounded one would make a completion full of spaces cost the square of its length.
_FINAL = re.compile(r"final answer[\s*#]{0,8}(?:[:=]|is\b|\n)", re.IGNORECASE)
_ANSWER_IS = re.compile(r"\banswer(?:\s{0,4}:|\s{1,4}is\b)", re.IGNORECASE)
_HOPE = re.compile(r"\.?\s{0,4}I hope it is correct.*", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_INLINE = re.compile(r"(?<!\\)\$([^$\n]+)(?<!\\)\$")


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
    r"""The content of the last ``\boxed{...}``, by counting braces; linear in the completion.

    The model may correct itself, so the last box wins. A last box that never closes (cut at the token
    limit) is no answer, even if an earlier one closed. A box inside another is part of the outer one's content.
    Without braces a box holds the number or letter behind it: ``\boxed 5``.
    """
    boxes = list(_BOX.finditer(completion))
    if not boxes:
        return None
    starts = {match.end() for match in boxes if match[1]}
    last = boxes[-1].end()
    found = boxes[-1].span(2) if boxes[-1][2] else (0, 0)
    opened: list[int] = []
    for brace in _BRACE.finditer(completion):
        if brace[0] == "{":
            opened.append(brace.end())
        elif brace[0] == "}" and opened:
            start = opened.pop()
            if start in starts and start <= last <= brace.start():
                found = start, brace.start()
    return completion[slice(*found)].strip() or None


def marker(completion: str) -> str | None:
    """What follows the last ``####`` on its line (the GSM8K form); text on later lines is ignored."""
    _, found, rest = completion.rpartition("####")
    if not found:
        return None
    lines = rest.strip().splitlines()
    return lines[0].strip() or None if lines else None


def strict_answer(completion: str) -> str | None:
    r"""The answer a completion marks as such, or None.

    That is the last ``\boxed{...}`` (None if it never closes or is empty), else the last ``<answer>`` tag, else what
    follows the last ``Final Answer:`` or ``####`` on its line. A number mentioned in passing is no answer, and nor is
    anything in a ``<think>`` block: only what follows the last ``</think>`` counts, up to a ``<think>`` that never
    closes.
    """
    completion = _spoken(completion)
    if _BOX.search(completion):
        return boxed(completion)
    tagged = _tagged(completion)
    if tagged is not None:
        return _first_line(tagged)
    final = _after(_FINAL, completion)
    if final is not None:
        return _first_line(final)
    marked = marker(completion)
    return None if marked is None else _first_line(marked)


def lenient_answer(completion: str) -> tuple[str | None, str]:
    """The marked answer or, failing that, the likeliest place; with the name of that place for the log.

    The places are, in this order, what follows the last "answer is" or "answer:", the last bold text, the last
    formula between dollar signs, and the last number. A box that never closes is still no answer.
    """
    completion = _spoken(completion)
    answer = strict_answer(completion)
    if answer is not None or _BOX.search(completion):
        return answer, ""
    said = _after(_ANSWER_IS, completion)
    if said is not None:
        return _first_line(said), "lenient: the last 'answer is'"
    for place, pattern in (("bold text", _BOLD), ("formula", _INLINE)):
        found = pattern.findall(completion)
        if found:
            return _first_line(found[-1]), f"lenient: the last {place}"
    number = last_number(completion)
    return number, "" if number is None else "lenient: the last number"


def _spoken(completion: str) -> str:
    return completion.rpartition("</think>")[2].partition("<think>")[0]


def _tagged(completion: str) -> str | None:
    """What the last closed ``<answer>`` tag holds; None without one."""
    found, start = None, None
    for tag in _TAG.finditer(completion):
        if not tag[1]:
            start = tag.end()
        elif start is not None:
            found, start = completion[start : tag.start()], None
    return found


def _after(pattern: re.Pattern[str], completion: str) -> str | None:
    """What follows the last match; None if nothing does."""
    found = None
    for match in pattern.finditer(completion):
        found = match.end()
    rest = completion[found:].strip("*: \n") if found is not None else ""
    return rest or None


def _first_line(text: str) -> str | None:
    lines = text.strip("*: \n").splitlines()
    return _HOPE.sub("", lines[0]).lstrip("* ").rstrip("*. ") or None if lines else None


EXTRACTORS: Mapping[str, Extractor] = {
    "whole": whole,
    "last_number": last_number,
    "boxed": boxed,
    "marker": marker,
}
