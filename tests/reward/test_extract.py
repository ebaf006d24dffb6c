import pytest

from winnow.reward.extract import boxed, last_number, lenient_answer, marker, strict_answer, whole


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("so it is 12.", "12"),
        ("1,2,3", "3"),
        ("that is $1,250.00 in all.", "1,250.00"),
        ("1,2500", "2500"),
        ("x = -5", "-5"),
        ("x=−5", "−5"),
        ("12-5", "5"),
        ("(3)-5", "5"),
        ("wait...5", "5"),
        ("about -.5", "-.5"),
        ("half, so 1/2 of it", "1/2"),
        ("item x5 of 7km", "7"),
        ("no number", None),
        ("", None),
    ],
)
def test_last_number(completion, answer):
    assert last_number(completion) == answer


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        (r"\boxed{4} no, \boxed{9}", "9"),
        (r"\boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed {7}", "7"),
        (r"\fbox{7}", "7"),
        (r"\boxed{4} then \boxed{58", None),
        (r"\boxed{}", None),
        (r"\boxed{\left\{ 1 \right.}", r"\left\{ 1 \right."),
        ("boxed{3}", None),
        (r"\boxed5", "5"),
        (r"\boxed 5.", "5"),
        (r"\boxed{4} or \boxed -2.5, no", "-2.5"),
        (r"\boxed A", "A"),
        (r"a \boxed answer", None),
        (r"\boxed{4 \boxed{5}}", r"4 \boxed{5}"),
        (r"\boxed{4 \boxed 5}", r"4 \boxed 5"),
        (r"\boxed{\boxed{4} 5}", r"\boxed{4} 5"),
        (r"\boxed{1 {2}} and \boxed{3 {4}}", "3 {4}"),
    ],
)
def test_boxed_takes_the_last_box_by_counting_braces(completion, answer):
    assert boxed(completion) == answer


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("#### 1\n#### 72\nmore text 5", "72"),
        ("####72", "72"),
        ("####\n72", "72"),
        ("#### ", None),
        ("72", None),
    ],
)
def test_marker_takes_one_line_after_the_last_marker(completion, answer):
    assert marker(completion) == answer


def test_whole_is_the_stripped_completion():
    assert whole(" 12 \n") == "12"
    assert whole(" \n") is None


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("**Final Answer:** 64", "64"),
        ("Final Answer: **64**.", "64"),
        ("The final answer is $64$.", "$64$"),
        ("The final answer is $64$. I hope it is correct.", "$64$"),
        ("## Final Answer\n\n64", "64"),
        ("<answer>5</answer>", "5"),
        ("<ANSWER>4</ANSWER> no, <answer>\n5\n</answer>", "5"),
        ("<answer></answer> 5", None),
        ("sum\n#### 72\nbye", "72"),
        ("I got 9", None),
        (r"#### 3, or \boxed{4", None),
    ],
)
def test_strict_answers_are_marked(completion, answer):
    assert strict_answer(completion) == answer


@pytest.mark.parametrize(
    ("completion", "answer", "place"),
    [
        (r"\boxed{5}", "5", ""),
        ("so the answer is 5.", "5", "lenient: the last 'answer is'"),
        ("Answer: **5**", "5", "lenient: the last 'answer is'"),
        ("it is **5**, I think", "5", "lenient: the last bold text"),
        ("thus $5$ or so", "5", "lenient: the last formula"),
        ("maybe 5", "5", "lenient: the last number"),
        (r"maybe 5, \boxed{6", None, ""),
        ("no idea", None, ""),
    ],
)
def test_lenient_answers_say_where_they_were_found(completion, answer, place):
    assert lenient_answer(completion) == (answer, place)
