r"""Answers that are words: multiple-choice letters, names, phrases; and golds that are remarks and no answers."""

from __future__ import annotations

import re

from winnow.reward.math.vocabulary import MATHEMATICAL, SHORT_WORDS

# More words than this are a sentence about the answer.
_MOST_WORDS = 8

_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_CHOICE = re.compile(
    r"(?:(?i:(?:the )?(?:correct |final )?(?:option|choice|answer)(?: is)?):? )?"
    r"\(?([A-J])(?:\)|[.:](?= |$))?(?: (.*))?",
    re.DOTALL,
)
_PARENTHESISED = re.compile(r"\(\s*([A-Ja-j])\s*\)")
_HEDGE = re.compile(r"\b(?:or|and|not|no|false|wrong|incorrect|wait|none|neither|nor|but|maybe)\b", re.IGNORECASE)
_LABEL = re.compile(r"(?<!\S)\(?[A-Ja-j][).:](?!\S)|(?<![A-Za-z\\])(?:[B-HJ](?![A-Za-z])|[AI](?=[).:,;]|$))")
_CORRECT = re.compile(r"(?:is )?(?:the )?(?:correct|right|best|true|final)? ?(?:answer|option|choice)?\.?")
_PHRASE = re.compile(r"[A-Za-z][A-Za-z'\-]*(?:,? [A-Za-z0-9][A-Za-z0-9'\-]*)*")
_WORDS = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?![A-Za-z])")

# What a gold says when the answer stands elsewhere or is missing.
_REMARKS = re.compile(
    r"\b(?:see|refer|figure|diagram|image|picture|graph shown|attached|vary|varies|sample answer|not provided"
    r"|not given|omitted|unknown|missing|above|below|n/?a|tbd|todo|null|nan|proof|explanation|cannot be determined from"
    r"|as shown|fixme|solution provided|check the)\b",
    re.IGNORECASE,
)

_SAME_PHRASE = {
    "dne": "does not exist",
    "no solutions": "no solution",
    "there is no solution": "no solution",
    "none of the above": "none of these",
    "infinite": "infinitely many",
    "infinitely many solutions": "infinitely many",
}


def plain(text: str) -> str:
    r"""A text without ``\text`` around its words, quotes and double spaces."""
    return " ".join(_TEXT.sub(r" \1 ", text).replace('"', " ").replace("``", " ").strip(" .").split())


def choice(text: str) -> tuple[str, str] | None:
    """The letter of a multiple-choice answer and what follows it (``C) 42``), or None."""
    text = plain(text)
    match = _CHOICE.fullmatch(text)
    if match is None:
        match = _PARENTHESISED.fullmatch(text)
        return (match[1].upper(), "") if match else None
    letter, behind = match[1], (match[2] or "").strip()
    closed = text[match.end(1) : match.end(1) + 1] in (")", ".", ":")
    if behind and not closed:
        # "A 42" might be a product; "A is correct" is a choice.
        return (letter, "") if _CORRECT.fullmatch(behind) else None
    return letter, "" if _CORRECT.fullmatch(behind) else behind


def one_choice(rest: str) -> bool:
    """Tell whether the text behind a letter leaves it at that: no other letter, no alternative, no denial."""
    return not (_HEDGE.search(rest) or _LABEL.search(rest))


def letters(text: str) -> frozenset[str] | None:
    """The letters of an answer with several choices (``A, C``, ``AC``, ``A and C``), or None."""
    text = plain(text)
    if re.fullmatch(r"[A-J]{2,}", text):
        return frozenset(text) if len(set(text)) == len(text) else None
    members = [choice(part) for part in re.split(r"\s*(?:,|;|\band\b|&)\s*", text) if part]
    if len(members) < 2 or any(member is None or member[1] for member in members):
        return None
    return frozenset(member[0] for member in members if member is not None)


def phrase(text: str) -> str | None:
    """An answer in words, brought to one spelling, or None for anything else.

    Case, hyphens, quotes and a final stop do not matter. A run of up to three letters is a product of variables
    unless it is marked as text or is one of a few short words.
    """
    marked = _TEXT.search(text) is not None
    text = plain(text)
    if not _PHRASE.fullmatch(text):
        return None
    lowered = " ".join(text.casefold().replace("-", " ").replace(",", " ").split())
    words = lowered.split()
    if not any(len(word) > 1 and word not in MATHEMATICAL for word in words):
        return None
    if not marked and all(len(word) <= 3 and word not in SHORT_WORDS for word in words):
        return None
    if any(word in MATHEMATICAL for word in words):
        return None
    return _SAME_PHRASE.get(lowered, lowered)


def remark(gold: str) -> str:
    """Say why a gold in words is no answer; an empty string if it may be one."""
    text = plain(gold)
    if _REMARKS.search(text):
        return "reads as a remark and not as an answer"
    if len(_WORDS.findall(text)) > _MOST_WORDS:
        return "reads as prose and not as an answer"
    return ""
