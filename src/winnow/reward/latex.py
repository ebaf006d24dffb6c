r"""Answers as LaTeX text: where they stand, how they are cleaned, and into what they come apart."""

from __future__ import annotations

import re

from winnow.reward.extract import boxed, last_number, marker

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(r"final answer(?:\W*?[:=]|\s+is\b)\s*:?\s*(.+)", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_INLINE = re.compile(r"(?<!\\)\$([^$\n]+)(?<!\\)\$")
_BOX_OPENS = re.compile(r"\\(?:boxed|fbox)\s*\{")

_TEXT = re.compile(r"\\(?:text|mathrm|textrm|textbf|mathbf|mbox)\s*\{([^{}]*)\}")
_SPACING = re.compile(r"\\[,;:!]|\\ |~|\\(?:left|right|displaystyle|quad|qquad)(?![A-Za-z])")
_DELIMITED = re.compile(r"\\\((.*)\\\)|\\\[(.*)\\\]|\$\$(.*)\$\$|\$(.*)\$", re.DOTALL)
_DOLLAR = re.compile(r"(?<!\\)\$")
_CHOICE = re.compile(r"\(?([A-J])(?:[).:](?:\s.*)?)?", re.DOTALL)
_CLOSES = {"(": ")", "[": "]", "{": "}"}


def strict_answer(completion: str) -> str | None:
    r"""The answer a completion marks as such, or None.

    That is the last ``\boxed{...}`` (None if it never closes), else the last ``<answer>`` tag, else what
    follows the last ``Final Answer:`` or ``####`` on its line. A number mentioned in passing is no answer.
    """
    if _BOX_OPENS.search(completion):
        return boxed(completion)
    tagged = _TAGGED.findall(completion)
    if tagged:
        return _bare(tagged[-1])
    final = _FINAL.findall(completion)
    if final:
        return _bare(final[-1])
    marked = marker(completion)
    return None if marked is None else _bare(marked)


def lenient_answer(completion: str) -> tuple[str | None, str]:
    """The marked answer or, failing that, the likeliest place; with the name of that place for the log."""
    answer = strict_answer(completion)
    if answer is not None or _BOX_OPENS.search(completion):
        return answer, ""
    for place, found in (("bold text", _BOLD.findall(completion)), ("formula", _INLINE.findall(completion))):
        if found:
            return _bare(found[-1]), f"lenient: the last {place}"
    number = last_number(completion)
    return number, "" if number is None else "lenient: the last number"


def clean(text: str) -> str:
    r"""Take off what does not change an answer: delimiters, an outer box, spacing, ``\text`` around all of it."""
    text = text.strip().replace("−", "-")
    inner = boxed(text)
    if inner is not None:
        text = inner
    delimited = _DELIMITED.fullmatch(text)
    if delimited is not None:
        text = next(group for group in delimited.groups() if group is not None)
    text = _SPACING.sub(" ", text).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.strip().removesuffix(".").strip()
    whole = _TEXT.fullmatch(text)
    text = whole[1].strip() if whole is not None else text
    return _DOLLAR.sub("", text).strip() if text.count("$") > text.count("\\$") + 1 else text


def squeezed(text: str) -> str:
    r"""Text for comparison as text: no ``\text``, no white space, braces around single characters gone."""
    text = re.sub(r"\s+", "", _TEXT.sub(r"\1", text))
    return re.sub(r"\{(\w)\}", r"\1", text)


def choice(text: str) -> str | None:
    """The letter of a multiple-choice answer (``A``, ``(A)``, ``A.``, ``A) 42``), or None."""
    match = _CHOICE.fullmatch(_TEXT.sub(r"\1", text).strip())
    return match[1] if match else None


def is_prose(text: str) -> bool:
    r"""Tell whether a gold is a remark and no answer: two plain words next to each other, outside ``\text``."""
    return re.search(r"(?<![A-Za-z\\])[A-Za-z]{2,}\s+[A-Za-z]{2,}", _TEXT.sub("; ", text)) is not None


def is_word(text: str) -> bool:
    r"""Tell whether an answer is one to compare as text: a single plain word, or all ``\text``."""
    return re.fullmatch(r"[A-Za-z]{2,}(?:[ -][A-Za-z]+)*", _TEXT.sub(r"\1", text).strip()) is not None


def parts(text: str) -> tuple[str, list[str]] | None:
    r"""Take a tuple, interval, set or list apart at its outermost commas.

    Returns:
        The pair of brackets (``()``, ``[)``, ``{}``; empty for a bare list) and the members; None for text
        that is neither bracketed nor has a comma outside brackets.
    """
    text = text.replace("\\{", "{").replace("\\}", "}").strip()
    brackets = ""
    if len(text) >= 2 and text[0] in _CLOSES and text[-1] in ")]}" and _closes_last(text):
        brackets, text = text[0] + text[-1], text[1:-1]
    members, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            members.append(text[start:position].strip())
            start = position + 1
    members.append(text[start:].strip())
    if len(members) == 1 and brackets != "{}":
        return None
    return brackets, members


def _closes_last(text: str) -> bool:
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return position == len(text) - 1
    return False


def _bare(text: str) -> str | None:
    lines = text.strip("* \n").splitlines()
    return lines[0].lstrip("* ").rstrip("*. ") or None if lines else None
