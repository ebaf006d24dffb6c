"""Exact match: the same text, or the same number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winnow import errors
from winnow.reward.base import Item, binary
from winnow.reward.extract import EXTRACTORS
from winnow.reward.rationals import decimal, quotient, rational
from winnow.rollout import Verdict


def same(gold: str, answer: str) -> bool:
    """Tell whether two answers are equal as numbers or, failing that, as text.

    Numbers are compared as exact rationals (``7.0`` equals ``7``, ``0.33`` is not ``1/3``). A quotient in
    the answer counts only where the gold is written as one too: otherwise copying ``48/2`` from the
    question would answer it. Text is compared without regard to case and to the amount of white space.
    """
    gold_value = rational(gold)
    if gold_value is not None:
        value = decimal(answer)
        if value is None and quotient(gold) is not None:
            value = quotient(answer)
        return value == gold_value
    return " ".join(gold.split()).casefold() == " ".join(answer.split()).casefold()


@dataclass(frozen=True)
class Exact:
    """Reward 1.0 for the gold answer and 0.0 for anything else; see `same` for what equal means.

    Args:
        extract: where the answer stands in the completion: ``whole`` (all of it), ``last_number``,
            ``boxed`` (the last closed box) or ``marker`` (after the last ``####``).

    Raises:
        ConfigError: if ``extract`` is none of these.
    """

    extract: str = "whole"

    def __post_init__(self) -> None:
        if self.extract not in EXTRACTORS:
            raise errors.unknown("value of extract", self.extract, EXTRACTORS)

    @property
    def name(self) -> str:
        """``exact``."""
        return "exact"

    @property
    def needs_gold(self) -> bool:
        """True."""
        return True

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item; a prompt without a gold answer is unscorable."""
        return [self._judge(item) for item in items]

    def unreadable(self, answer: str) -> str:
        """Say why no completion could equal ``answer``; an empty string if one could."""
        if self.extract == "last_number" and rational(answer) is None:
            return "is not a number, and extract=last_number finds only numbers"
        return ""

    def _judge(self, item: Item) -> Verdict:
        gold = item.prompt.answer
        if gold is None:
            return Verdict(score=None, reason="the prompt has no gold answer")
        answer = EXTRACTORS[self.extract](item.completion)
        if answer is None:
            return binary(False, reason=f"no answer found (extract={self.extract})")
        return binary(same(gold, answer))
