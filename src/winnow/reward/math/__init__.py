r"""The math verifier: is the answer in a completion equal to the gold?

Integers, decimals, fractions and choice letters are settled exactly and without computer algebra. Expressions,
tuples, sets, intervals, equations and matrices are read by a parser of our own and compared exactly or to fifty
digits; golds it does not read go to math-verify. ``docs/math-verifier.md`` says what counts as right, how often
the verdicts are wrong, and what is known not to work.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from winnow import errors
from winnow.reward.base import Item, binary
from winnow.reward.extract import lenient_answer, strict_answer
from winnow.reward.math import golds
from winnow.reward.math.clean import clean, styled
from winnow.reward.math.judge import equal
from winnow.reward.rationals import decimal
from winnow.rollout import Verdict

__all__ = ["UNREADABLE", "Extract", "Math", "unreadable", "verify"]

Extract = Literal["strict", "lenient"]

UNREADABLE = "gold_unparseable"

# Characters; a longer answer is no answer, and cleaning it takes time.
_LONGEST = 5000


def verify(gold: str | int | float, completion: str, extract: Extract = "strict") -> Verdict:
    r"""Judge a completion against a gold answer.

    There is no time limit here, though numbers too large to evaluate are only compared by form; run untrusted
    completions in a `winnow.reward.Pool`.

    Args:
        gold: the gold, as LaTeX with or without delimiters, as text, or as a number.
        completion: the text; see `winnow.reward.extract.strict_answer` for where the answer is looked for.
        extract: ``strict``, or ``lenient`` to fall back on less certain places (see
            `winnow.reward.extract.lenient_answer`); the verdict's reason then names the place.

    Returns:
        Score and outcome 1.0 or 0.0, or None (with a reason that starts with ``gold_unparseable``) when the gold
        cannot be read: then no completion is right or wrong.

    Raises:
        ConfigError: if ``extract`` is neither.
        TypeError: if ``completion`` is no text.
        MissingExtra: if the pair needs computer algebra and the extra ``math`` is not installed.
    """
    _check(extract)
    if not isinstance(completion, str):
        raise TypeError(f"verify: the completion must be text, found {type(completion).__name__}")
    if isinstance(gold, bool) or not isinstance(gold, str | int | float):
        return Verdict(None, reason=f"{UNREADABLE}: {gold!r} is neither text nor a number")
    text, problem = golds.prepared(str(gold))
    if problem:
        return Verdict(None, reason=f"{UNREADABLE}: {gold!r} {problem}")
    if extract == "strict":
        answer, note = strict_answer(completion), ""
    else:
        answer, note = lenient_answer(completion)
    if answer is None:
        return binary(False, reason="no answer found")
    if len(answer) <= _LONGEST and styled(answer) and not styled(str(gold)):
        return binary(False, reason="parts of the answer are coloured or hidden")
    return binary(_right(text, answer), reason=note)


def unreadable(gold: str) -> str:
    """Say why no answer could be judged against a gold; an empty string if one could.

    A gold is readable if the gold itself, in a box, is judged right. The result is cached.
    """
    return golds.prepared(gold)[1]


def _right(gold: str, answer: str) -> bool:
    wanted = _plain_number(gold)
    if wanted is not None:
        # The common case: both are plain numbers, and there is nothing to clean.
        found = decimal(answer)
        if found is not None:
            return found == wanted
    return len(answer) <= _LONGEST and equal(gold, clean(answer))


_plain_number = functools.lru_cache(maxsize=16384)(decimal)


def _check(extract: str) -> None:
    if extract not in get_args(Extract):
        raise errors.unknown("value of extract", extract, get_args(Extract))


@dataclass(frozen=True)
class Math:
    """Reward 1.0 for a completion whose marked answer equals the gold, see `verify`.

    Args:
        extract: ``strict`` or ``lenient``.

    Attributes:
        may_hang: computer algebra on text of a model has no bound of its own.
        on_timeout: an answer that a pool cannot decide in time is wrong: its gold was checked at load.

    Raises:
        ConfigError: if ``extract`` is neither.
        MissingExtra: without the extra ``math``.
    """

    extract: Extract = "strict"
    may_hang: ClassVar[bool] = True
    on_timeout: ClassVar[Literal["zero"]] = "zero"

    def __post_init__(self) -> None:
        _check(self.extract)
        if importlib.util.find_spec("math_verify") is None:
            raise errors.MissingExtra("the math reward needs math-verify: pip install 'winnow-rl[math]'")

    def warm_up(self) -> None:
        """Import what the rare hard answers need, seconds that should not count as theirs."""
        importlib.import_module("winnow.reward.math.library")
        importlib.import_module("winnow.reward.math.solver")

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
