from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow import reward
from winnow.errors import ConfigError
from winnow.reward import Item
from winnow.reward.exact import same
from winnow.reward.rationals import rational
from winnow.rollout import Prompt


def item(gold, completion):
    return Item(Prompt("train:1", "question", gold), completion, "1/0")


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("7", "7.0", True),
        ("7", "07", True),
        ("7", "+7", True),
        ("-7", "7", False),
        ("1250", "1,250", True),
        ("1250", "1,25,0", False),
        ("0.1", "0.10000000000000000001", False),
        ("7/2", "3.5", True),
        ("7/2", "14/4", True),
        ("24", "48/2", False),
        ("7", "seven", False),
        ("Paris ", "paris", True),
        ("New  York", "new\nyork", True),
        ("ab", "a b", False),
        ("1e3", "1000", False),
    ],
)
def test_same_number_or_same_text(gold, answer, equal):
    assert same(gold, answer) is equal


@given(st.fractions(max_denominator=10**6))
def test_rationals_read_back_exactly(value):
    assert rational(str(value)) == value


@given(st.integers(-(10**20), 10**20))
def test_thousands_separators_change_nothing(value):
    assert rational(f"{value:,}") == value


@pytest.mark.parametrize("text", ["", "-", ".", "1.2.3", "1/0", "1/", "9" * 5000, "1e999999999", "٣"])
def test_what_is_no_number_is_none(text):
    assert rational(text) is None


def test_trailing_point_and_bare_fraction():
    assert rational("7.") == 7
    assert rational(".5") == Fraction(1, 2)


def test_scores_and_reasons():
    verdicts = reward.load("exact", extract="boxed").score(
        [item("9", r"\boxed{9}"), item("9", r"\boxed{8}"), item("9", "9"), item(None, r"\boxed{9}")]
    )
    assert [v.score for v in verdicts] == [1.0, 0.0, 0.0, None]
    assert [v.outcome for v in verdicts] == [1.0, 0.0, 0.0, None]
    assert verdicts[2].reason == "no answer found (extract=boxed)"
    assert "no gold" in verdicts[3].reason


@pytest.mark.parametrize("case", ["DATA-06"], indirect=True)
def test_text_after_the_marker_costs_nothing(case):
    [verdict] = reward.load("exact", extract="marker").score(
        [item(case["input"]["gold"], case["input"]["completion_tail"])]
    )
    assert verdict.score == case["expected"]["reward"]


def test_unknown_extractor_gets_a_suggestion():
    with pytest.raises(ConfigError, match="'last_numbr', did you mean 'last_number'"):
        reward.load("exact", extract="last_numbr")


def test_gold_that_extraction_can_never_match_is_unreadable():
    assert "not a number" in reward.load("exact", extract="last_number").unreadable("blue")
    assert reward.load("exact", extract="last_number").unreadable("1,250") == ""
    assert reward.load("exact").unreadable("blue") == ""
