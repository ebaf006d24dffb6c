r"""The math verifier: is the answer in a completion equal to the gold?

Most pairs are integers, decimals, fractions or choice letters and are settled exactly without computer algebra;
tuples, intervals, sets and lists come apart into members; the rest goes to math-verify.

Known limits: an answer of more than 1000 characters is right only as the very text of the gold; there is no time
limit here (numbers too large to evaluate are compared by form, but algebra may still take long); a decimal against
a root or a function is compared to six decimals, as math-verify does.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from winnow import errors
from winnow.reward import algebra, latex
from winnow.reward.base import Item, binary
from winnow.reward.quantity import Quantity, quantity
from winnow.reward.rationals import LONGEST, decimal
from winnow.rollout import Verdict

Extract = Literal["strict", "lenient"]

UNREADABLE = "gold_unparseable"

# Sequences with dots and clock times or ratios are compared as they are written: as numbers, 8:15 would equal
# 16:30, and the dots would be thrown away.
_AS_WRITTEN = re.compile(r"\\[lcv]?dots|\.\.\.|…|\d\s*(?::|\\colon)\s*\d")


def verify(gold: str | int | float, completion: str, extract: Extract = "strict") -> Verdict:
    r"""Judge a completion against a gold answer.

    Args:
        gold: the gold, as LaTeX with or without delimiters, as text, or as a number.
        completion: the text; see `winnow.reward.latex.strict_answer` for where the answer is looked for.
        extract: ``strict``, or ``lenient`` to fall back on the last bold text, formula or number; the
            verdict's reason then says so.

    Returns:
        Score and outcome 1.0 or 0.0, or None (with the reason ``gold_unparseable``) when the gold cannot be
        read: then no completion is right or wrong.
    """
    text, problem, value = _read(str(gold))
    if problem:
        return Verdict(None, reason=f"{UNREADABLE}: {gold!r} {problem}")
    if extract == "strict":
        answer, note = latex.strict_answer(completion), ""
    else:
        answer, note = latex.lenient_answer(completion)
    if answer is None:
        return binary(False, reason="no answer found")
    number = decimal(answer) if value is not None and not value.percent else None
    # The common case: both are plain numbers, and there is nothing to clean.
    correct = number == value.value if number is not None and value is not None else _equal(text, latex.clean(answer))
    return binary(correct, reason=note)


@functools.lru_cache(maxsize=16384)
def _read(gold: str) -> tuple[str, str, Quantity | None]:
    # Each gold meets many completions: clean and check it once.
    text = latex.clean(gold)
    return text, unreadable(gold), quantity(text)


def unreadable(gold: str) -> str:
    """Say why no answer could be judged against a gold; an empty string if one could."""
    gold = latex.clean(gold)
    if not gold:
        return "is empty"
    if quantity(gold) is not None or latex.choice(gold) or _AS_WRITTEN.search(gold):
        return ""
    if latex.is_prose(gold):
        return "reads as prose and not as an answer"
    if latex.is_word(gold):
        return ""
    members = latex.parts(gold)
    if members is not None:
        return next((why for why in map(unreadable, members[1]) if why), "")
    return "" if algebra.expression(gold) is not None else "cannot be read as mathematics"


def _equal(gold: str, answer: str) -> bool:
    if latex.squeezed(gold) == latex.squeezed(answer):
        return True
    if len(answer) > LONGEST:
        return False
    left, right = quantity(gold), quantity(answer)
    if left is not None and right is not None:
        return left.same(right)
    letter = latex.choice(gold)
    if letter is not None:
        return letter == latex.choice(answer)
    if _AS_WRITTEN.search(gold) or _AS_WRITTEN.search(answer):
        return False
    if latex.is_word(gold) or latex.is_word(answer):
        return latex.squeezed(gold).casefold() == latex.squeezed(answer).casefold()
    together = _equal_parts(gold, answer)
    if together is not None:
        return together
    parsed_gold, parsed_answer = algebra.expression(gold), algebra.expression(answer)
    return parsed_gold is not None and parsed_answer is not None and algebra.equal(parsed_gold, parsed_answer)


def _equal_parts(gold: str, answer: str) -> bool | None:
    left, right = latex.parts(gold), latex.parts(answer)
    if left is None or right is None or left[0] != right[0] or len(left[1]) != len(right[1]):
        # One of them may be an inequality, a plus-minus or a set written otherwise: the algebra decides.
        return None
    pairs = zip(left[1], right[1], strict=True)
    if left[0] not in ("{}", ""):
        return all(_equal(*pair) for pair in pairs)
    remaining = list(right[1])
    for member in left[1]:
        match = next((other for other in remaining if _equal(member, other)), None)
        if match is None:
            return False
        remaining.remove(match)
    return True


@dataclass(frozen=True)
class Math:
    """Reward 1.0 for a completion whose marked answer equals the gold, see `verify`.

    Args:
        extract: ``strict`` or ``lenient``.

    Raises:
        ConfigError: if ``extract`` is neither.
    """

    extract: Extract = "strict"

    def __post_init__(self) -> None:
        if self.extract not in get_args(Extract):
            raise errors.unknown("value of extract", self.extract, get_args(Extract))

    @property
    def name(self) -> str:
        """``math``."""
        return "math"

    @property
    def needs_gold(self) -> bool:
        """True."""
        return True

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item; a prompt without a gold answer is unscorable."""
        return [self._judge(item) for item in items]

    def unreadable(self, answer: str) -> str:
        """Say why no completion could be judged against ``answer``; an empty string if one could."""
        return unreadable(answer)

    def _judge(self, item: Item) -> Verdict:
        if item.prompt.answer is None:
            return Verdict(None, reason="the prompt has no gold answer")
        return verify(item.prompt.answer, item.completion, self.extract)
