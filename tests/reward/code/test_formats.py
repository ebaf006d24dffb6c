"""The forms tests come in."""

import json
import pickle

import pytest

from winnow import errors
from winnow.reward.code import Case, Tests

FUNCTION = {"function": "add", "cases": [{"args": [1, 2], "expected": 3}, {"args": ["a"], "raises": "TypeError"}]}


def test_function_form():
    tests = Tests.of(FUNCTION)
    assert tests.function == "add"
    assert tests.cases == [Case(args=[1, 2], expected=3), Case(args=["a"], raises="TypeError")]
    assert tests.rules.loose_sequences
    assert Tests.of(json.dumps(FUNCTION)) == tests
    assert Tests.of(tests) is tests
    assert pickle.loads(pickle.dumps(tests)) == tests


def test_keywords_and_tolerance():
    case = {"args": [], "kwargs": {"x": 1}, "expected": None}
    tests = Tests.of({"function": "f", "cases": [case], "tolerance": 0.01})
    assert tests.cases[0].kwargs == {"x": 1}
    assert tests.rules.tolerance == 0.01


def test_script_form():
    tests = Tests.of({"cases": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdout": "x"}]})
    assert tests.function == ""
    assert tests.cases == [Case(stdin="1 2\n", stdout="3\n"), Case(stdout="x")]


def test_columns_a_parquet_file_fills_with_nothing():
    case = {"args": [1], "kwargs": None, "expected": 3, "raises": None, "stdin": None, "stdout": None}
    tests = Tests.of({"function": "f", "cases": [case], "tolerance": None})
    assert tests.cases == [Case(args=[1], expected=3)]
    raising = {"args": [1], "kwargs": None, "expected": None, "raises": "ValueError"}
    assert Tests.of({"function": "f", "cases": [raising]}).cases[0].raises == "ValueError"


def test_paired_form():
    tests = Tests.of({"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]})
    assert tests.cases == [Case(stdin="1 2\n", stdout="3\n"), Case(stdin="3\n4", stdout="7")]
    tests = Tests.of({"fn_name": "add", "inputs": [[1, 2]], "outputs": [[3]]})
    assert tests.function == "add"
    assert tests.cases == [Case(args=[1, 2], expected=3)]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "expected a table or a list of asserts, found nothing"),
        (7, "found int"),
        ([], "found list"),
        ("", "neither JSON"),
        ("{", "neither JSON"),
        ("print(1)", "neither JSON"),
        ({}, "'cases' must be a list, found nothing"),
        ({"function": "f", "cases": []}, "there are no cases"),
        ({"function": "f", "cases": [3]}, "case 1 must be a table, found int"),
        ({"function": "f()", "cases": [{"args": [], "expected": 1}]}, "'function' must be the name"),
        ({"function": "f", "cases": [{"args": 1, "expected": 1}]}, "case 1 needs a list 'args'"),
        ({"function": "f", "cases": [{"args": [1]}]}, "case 1 needs either 'expected' or 'raises'"),
        ({"function": "f", "cases": [{"args": [1], "expected": 1, "raises": "E"}]}, "either 'expected' or 'raises'"),
        ({"function": "f", "cases": [{"args": [1], "raises": 3}]}, "'raises' must be the name"),
        ({"function": "f", "cases": [{"args": [1], "expect": 1}]}, "unknown key 'expect', did you mean 'expected'?"),
        ({"funktion": "f", "cases": []}, "unknown key 'funktion', did you mean 'function'?"),
        ({"cases": [{"stdin": "1"}]}, "case 1 needs a text 'stdout'"),
        ({"cases": [{"args": [1], "expected": 1}]}, "unknown key 'args'"),
        ({"function": "f", "cases": [{"args": [1], "expected": 1}], "tolerance": -1}, "'tolerance' must be"),
        ({"inputs": ["1"], "outputs": []}, "lists of one length"),
        ({"function": "f", "cases": [{"args": [object()], "expected": 1}]}, "case 1 holds a value of type object"),
    ],
)
def test_what_cannot_be_read_is_said(value, says):
    with pytest.raises(errors.DataError, match="tests: ") as caught:
        Tests.of(value)
    assert says in str(caught.value)


ASSERTS = [
    ("assert f(1, [2]) == 3", Case(args=[1, [2]], expected=3)),
    ("assert 3 == f(1)", Case(args=[1], expected=3)),
    ("assert f((1, 2), x={'a': -1}) == {1: (2,)}", Case(args=[(1, 2)], kwargs={"x": {"a": -1}}, expected={1: (2,)})),
    ("assert f(1) is None", Case(args=[1])),
    ("assert f(1)", Case(args=[1], expected=True, form="truth")),
    ("assert not f('a'), 'message'", Case(args=["a"], expected=False, form="truth")),
    ("assert (f(1) == True)", Case(args=[1], expected=True)),
    ("assert set(f((3, 4))) == set((4, 5))", Case(args=[(3, 4)], expected={4, 5}, form="set")),
    ("assert sorted(f([2, 1])) == [1, 2]", Case(args=[[2, 1]], expected=[1, 2], form="sorted")),
    ("assert f(set([1])) == frozenset([2])", Case(args=[{1}], expected=frozenset([2]))),
    ("assert math.isclose(f(1), 2.5, rel_tol=0.001)", Case(args=[1], expected=2.5, tolerance=0.001)),
    ("assert abs(f(1) - 2.5) < 1e-3", Case(args=[1], expected=2.5, tolerance=1e-3)),
    ("assert f(1) == float('inf')", Case(args=[1], expected=float("inf"))),
    ("import math\nassert f() == 2", Case(args=[], expected=2)),
]


@pytest.mark.parametrize(("text", "case"), ASSERTS)
def test_asserts(text, case):
    for value in ([text], text, json.dumps([text])):
        tests = Tests.of(value)
        assert tests.function == "f"
        assert tests.cases == [case]
        assert not tests.rules.loose_sequences


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == g(2)",
        "assert f(1) != 2",
        "assert f(1) > 2",
        "assert f(f(1)) == 2",
        "assert f(x) == 2",
        "assert f(1).x == 2",
        "assert f(1)[0] == 2",
        "assert f(*[1]) == 2",
        "assert f(**{}) == 2",
        "assert 1 == 1",
        "assert f(1) == 2 == 3",
        "assert f(1) == __import__('os').system('true')",
        "assert len(f(1)) == 2",
        "x = 1",
        "assert f(1) == 1\nassert g(1) == 1",
        "def check(candidate): assert candidate(1) == 1",
        "assert f(1",
        "assert f(" + "(" * 500 + ")" * 500 + ") == 1",
    ],
)
def test_asserts_that_would_have_to_be_run_are_refused(text):
    with pytest.raises(errors.DataError, match="tests: "):
        Tests.of([text])
