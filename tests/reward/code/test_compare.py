import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.reward.code.compare import Rules, equal, same_text, show
from winnow.reward.code.inside import plain

JSON, PYTHON = Rules(), Rules(loose_sequences=False)
NAN = math.nan


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        (1, 1, True), (1, 1.0, True), (1.0, 1, True), (1, True, False), (True, 1, False), (0, False, False),
        (False, False, True), (None, None, True), (None, 0, False), (None, False, False), (0, None, False),
        (1, 1.0000001, False), (1.0, 1.0000001, True), (1.0, 1.00001, False), (1e9, 1e9 + 1, True),
        (1e-9, 2e-9, True), (10**30, 10**30 + 1, False), (1e300, 10**400, False), (0.1 + 0.2, 0.3, True),
        (NAN, NAN, True), (NAN, 1.0, False), (1.0, NAN, False), (NAN, None, False), (math.inf, math.inf, True),
        (math.inf, -math.inf, False), (math.inf, 1e308, False), (1e308, math.inf, False), (1 + 2j, 1 + 2j, True),
        (1j, 1j + 1e-9, True), ("1", 1, False), (1, "1", False), ("a", "A", False), ("a", b"a", False),
        ([1], [1], True), ([1], (1,), True), ((1,), [1], False), ((1,), (1,), True), ([1, 2], [2, 1], False),
        ([1], [1, 1], False), ([], (), True), ([], None, False), ([[1]], [(1,)], True), ([True], [1], False),
        ([], set(), False), ({1, 2}, {2, 1}, True), ({1}, frozenset({1}), True), ({1}, [1], False),
        ({1}, {True}, False), ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"1": 1}, {1: 1}, False), ({1: 1}, {True: 1}, False), ({"a": [1]}, {"a": (1,)}, True), ({}, [], False),
        ({"a": 1.0}, {"a": 1.0000001}, True), ({"a": None}, {"b": None}, False),
    ],
)  # fmt: skip
def test_equal(expected, got, same):
    assert equal(expected, got, JSON) is same


def test_python_tells_lists_from_tuples():
    assert not equal([1], (1,), PYTHON)
    assert not equal([[1]], [(1,)], PYTHON)
    assert equal([(1,)], [(1,)], PYTHON)


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("3\n", "3", True), ("3", "3\n\n \n", True), ("1 2", "1   2 ", True), ("1\n2", "1\r\n2\r\n", True),
        ("1 2", "1\n2", False), ("a\n\nb", "a\nb", False), ("", "\n", True), ("", "0", False), ("3", "3.0", False),
        ("Yes", "yes", False), ("12", "1 2", False),
    ],
)  # fmt: skip
def test_same_text(expected, got, same):
    assert same_text(expected, got) is same


def test_show_is_short():
    assert len(show("x" * 10**6)) == 80
    assert show(10**5000) == "a very large integer"


atoms = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
keys = st.none() | st.booleans() | st.integers() | st.text() | st.tuples(st.integers())
values = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.sets(keys)
        | st.frozensets(keys)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(values)
def test_plain_form_keeps_value_and_type(value):
    assert shape(plain.decode(plain.encode(value))) == shape(value)


def shape(value):
    if isinstance(value, dict):
        return dict, sorted((repr(shape(k)), repr(shape(v))) for k, v in value.items())
    if isinstance(value, set | frozenset):
        return type(value), sorted(repr(shape(item)) for item in value)
    if isinstance(value, list | tuple):
        return type(value), [shape(item) for item in value]
    return type(value), repr(value)


forms = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner | st.sampled_from("ltszdifbc"), max_size=4),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(forms)
def test_nothing_but_plain_data_comes_out(form):
    try:
        value = plain.decode(form)
    except plain.NotPlain:
        return
    plain.encode(value)


def test_members_and_keys_follow_the_same_rules_at_any_depth():
    nan = float("nan")
    for expected, got in ([{(1, True)}, {(1, 1)}], [{frozenset({True})}, {frozenset({1})}], [{(True,): 1}, {(1,): 1}]):
        assert not equal(expected, got, Rules())
    for expected, got in ([{nan}, {float("nan")}], [{(nan, 1)}, {(float("nan"), 1)}], [{nan: 1}, {float("nan"): 1}]):
        assert equal(expected, got, Rules())
    assert not equal({0.3}, {0.1 + 0.2}, Rules())


def test_numbers_beyond_floats_are_wrong_and_not_an_error():
    huge = complex(1.7e308, 1.7e308)
    for expected, got in ([1.5, huge], [huge, 1.5], [731j, 10**60000], [1.5, 10**60000], [huge, 10**400]):
        assert not equal(expected, got, Rules())
    assert equal(1.5 + 2j, 1.5 + 2.0000001j, Rules())
    assert not equal(float("inf"), 1e308, Rules())
    assert equal(float("inf"), float("inf"), Rules())
