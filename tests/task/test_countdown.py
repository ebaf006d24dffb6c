from random import Random

import pytest

from winnow.task import countdown

NUMBERS, TARGET = (19, 9, 3), 13


@pytest.mark.parametrize(
    "answer", ["19-9+3", "3+19-9", " 19 - 9 + 3 ", "(19-9)+3", "3-(9-19)", "-9+19+3", "19+-9+3", "19--3-9"]
)
def test_right_answers(answer):
    assert countdown.judge(answer, NUMBERS, TARGET) == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "not an expression"),
        ("19-9", "does not use each number once"),
        ("13", "does not use each number once"),
        ("19-9+3+0", "does not use each number once"),
        ("19+9+3", "equals 31, not 13"),
        ("19-9+3=13", "not an expression"),
        ("19-9+3;", "not an expression"),
        ("(19-9+3", "bracket"),
        ("19-9+3)", "not an expression"),
        ("19 9 3", "not an expression"),
        ("19/(9-9)", "divides by zero"),
        ("19-09+3", "starts with 0"),
        ("9**9**9", "not an expression"),
        ("19//9+3", "not an expression"),
        ("19.0-9+3", "not an expression"),
        ("1" * 300, "longer than"),
    ],
)
def test_wrong_answers_say_why(answer, reason):
    assert reason in countdown.judge(answer, NUMBERS, TARGET)


def test_division_is_exact():
    assert countdown.judge("7/2*4", (7, 2, 4), 14) == ""
    assert countdown.judge("7/2+4", (7, 2, 4), 7) != ""


def test_agrees_with_the_scorer_of_reasoning_gym():
    gym = pytest.importorskip("reasoning_gym")
    scorer = gym.get_score_answer_fn("countdown")
    rng = Random(0)
    rights = 0
    for _ in range(400):
        numbers = [rng.randint(1, 9) for _ in range(3)]
        a, b, c = map(str, rng.sample(numbers, 3))
        pieces = [a, rng.choice("+-*/"), b, rng.choice("+-*/"), c]
        if rng.random() < 0.3:
            pieces.insert(rng.randrange(6), rng.choice(["(", ")", "+", "-", "7", " "]))
        answer = "".join(pieces)
        if "//" in answer or "**" in answer:
            continue
        target = rng.randint(1, 12)
        entry = {"answer": "", "metadata": {"numbers": numbers, "target": target}}
        right = countdown.judge(answer, numbers, target) == ""
        assert right == (scorer(answer=answer, entry=entry) >= 0.99), (answer, numbers, target)
        rights += right
    assert rights >= 5
