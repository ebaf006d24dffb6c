"""The parts of the math verifier against brute force."""

import threading
from fractions import Fraction

import pytest

pytest.importorskip("math_verify")

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from winnow.reward.math.exact import TooLarge, Undefined, exact
from winnow.reward.math.identity import same_value
from winnow.reward.math.inequalities import region
from winnow.reward.math.numeric import evaluate
from winnow.reward.math.parts import brackets, commas, joined
from winnow.reward.math.regions import EVERYTHING, Interval, bound, complement, intersection, union
from winnow.reward.math.syntax import parse
from winnow.reward.math.tree import Unreadable, number
from winnow.reward.math.units import unit
from winnow.reward.math.value import value

FAST = settings(deadline=None, derandomize=True, max_examples=100)

PLACES = [Fraction(n, 2) for n in range(-13, 14)]


@st.composite
def arithmetic(draw, depth=3):
    """An expression as LaTeX and its value."""
    if not depth or draw(st.booleans()):
        n = draw(st.integers(0, 12))
        return str(n), Fraction(n)
    (left, a), (right, b) = draw(arithmetic(depth=depth - 1)), draw(arithmetic(depth=depth - 1))
    kind = draw(st.sampled_from(["+", "-", "cdot", "implicit", "frac", "/", "^", "minus"]))
    if kind in "+-":
        return f"({left}{kind}{right})", a + b if kind == "+" else a - b
    if kind == "cdot":
        return f"({left}\\cdot {right})", a * b
    if kind == "implicit":
        return f"({left})({right})", a * b
    if kind == "^":
        return f"({left})^{{2}}", a * a
    if kind == "minus":
        return f"(-{left})", -a
    assume(b != 0)
    return (f"\\frac{{{left}}}{{{right}}}" if kind == "frac" else f"(({left})/({right}))"), a / b


@FAST
@given(arithmetic())
def test_arithmetic_is_exact(pair):
    text, expected = pair
    assert exact(parse(text)) == expected
    assert same_value(parse(text), number(expected))
    assert not same_value(parse(text), number(expected + Fraction(1, 10**40)))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("-x^2", "(-x)^2", False),
        ("-x^2", "-(x^2)", True),
        (r"\sin 2x", r"\sin(2x)", True),
        (r"\sin x\cos x", r"\sin(x)\cdot\cos(x)", True),
        (r"\sin^2 x", r"(\sin x)^2", True),
        (r"\sin^{-1} x", r"\arcsin x", True),
        ("1/2x", "0.5x", True),
        ("a/bc", "a/(bc)", True),
        ("a/b*c", "ac/b", True),
        ("x^10", "x^{10}", True),
        ("2^3^2", "512", True),
        (r"\frac12x", "x/2", True),
        (r"2\frac{1}{2}", "2.5", True),
        (r"2\frac{3}{2}", "3", True),
        (r"2\frac{a}{2}", "a", True),
        (r"\log 100", "2", True),
        (r"\log_28", "3", True),
        (r"|x||y|", "|xy|", True),
        (r"|x|", "x", False),
        (r"\sqrt{x^2}", "|x|", True),
        (r"\sqrt[3]{-8}", "-2", True),
        (r"\ln x^2", r"2\ln x", True),
        ("x", "X", False),
        ("x_1", "x_2", False),
        ("x_{1}", "x_1", True),
        ("x'", "x", False),
        ("f(x+1)", "f(1+x)", True),
        ("f(x)", "g(x)", False),
        (r"(-1)^n", r"\cos(n\pi)", True),
        (r"e^{i\pi}", "-1", True),
        (r"2^{1000}+\sqrt2", r"2^{1000}+\sqrt3", False),
        (r"10^{-100}\sqrt2", r"10^{-100}\sqrt3", False),
        (r"\sqrt{10^{40}+1}-10^{20}", r"\frac{1}{\sqrt{10^{40}+1}+10^{20}}", True),
        (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}", True),
        (r"2\pi r", "2pi r", True),
    ],
)
def test_expressions_are_read_as_printed(one, other, equal):
    assert same_value(parse(one), parse(other)) is equal


@pytest.mark.parametrize(
    "text",
    ["", "1 2", "2 3/2", "x +", r"\frac{1}", "(1", "1)", "area", r"\foo x", "2..5", "((" * 40, r"\sqrt" * 90, "x 2"],
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(Unreadable):
        parse(text)


def test_numbers_too_large_and_undefined_are_told_apart():
    for text in ("9^{9^{9}}", "99999!", r"\binom{10^{9}}{10^{8}}"):
        with pytest.raises(TooLarge):
            exact(parse(text))
    for text in (r"\sqrt{2}\cdot 9^{9^{9^{9}}}", r"e^{e^{e^{e^{e}}}}"):
        with pytest.raises(TooLarge):
            evaluate(parse(text))
    for text in (r"\frac{1}{0}", "0^{-1}"):
        with pytest.raises(Undefined):
            exact(parse(text))
    with pytest.raises(Undefined):
        evaluate(parse(r"\sin\frac{1}{\sqrt{2}-\sqrt{2}}"))


@FAST
@given(
    sign=st.sampled_from(["<", ">", "\\le", "\\ge", "\\ne"]),
    coefficients=st.tuples(st.integers(-2, 2), st.integers(-3, 3), st.integers(-6, 6)),
)
def test_inequalities_hold_where_they_say(sign, coefficients):
    a, b, c = coefficients
    assume(a or b)
    found = region(parse(f"({a})x^2+({b})x+({c})"), sign, parse("0"))
    for x in PLACES:
        y = a * x * x + b * x + c
        expected = {"<": y < 0, ">": y > 0, "\\le": y <= 0, "\\ge": y >= 0, "\\ne": y != 0}[sign]
        assert contains(found, x) is expected


intervals = st.builds(
    lambda ends, low, high: Interval(bound(number(min(ends))), bound(number(max(ends))), low, high),
    st.tuples(st.integers(-5, 5), st.integers(-5, 5)),
    st.booleans(),
    st.booleans(),
)


@FAST
@given(st.lists(intervals, max_size=4), st.lists(intervals, max_size=4))
def test_regions_hold_what_their_intervals_hold(first, second):
    one, other = union(first), union(second)
    for x in PLACES:
        inside = [any(contains(union([interval]), x) for interval in group) for group in (first, second)]
        assert contains(one, x) is inside[0]
        assert contains(intersection(one, other), x) is all(inside)
        assert contains(complement(one), x) is not inside[0]
    assert union(reversed(first)).same(one)
    assert complement(complement(one)).same(one)
    assert intersection(one, EVERYTHING).same(one)


def contains(found, x):
    point = union([Interval(bound(number(x)), bound(number(x)), False, False)])
    return intersection(found, point).intervals != ()


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("cm", "centimeters", True),
        ("km/h", r"\text{kilometers per hour}", True),
        ("mph", "miles per hour", True),
        ("cm^2", "square centimeters", True),
        ("cm^2", "cm", False),
        ("m/s", r"\frac{\text{m}}{\text{s}}", True),
        (r"\text{m s}^{-1}", "m/s", True),
        ("in", "inches", True),
        ("dollars", "USD", True),
        ("hours", "minutes", False),
    ],
)
def test_units(text, other, same):
    assert (unit(text) == unit(other)) is same


@pytest.mark.parametrize("text", ["x", "ab", "xyz", "or 3", "m+1", "sin x", "pi", "of", "m"])
def test_what_is_no_unit(text):
    assert unit(text) is None


def test_values_carry_what_is_written_around_them():
    assert value(r"\$1,250").fraction == 1250
    assert value("7.5%").percent and value("7.50").places == 2
    assert value("5 million").fraction == 5_000_000
    assert value(r"2\text{ m}").unit == value("2 meters").unit
    assert value("5 ft 6 in").fraction == Fraction("1.6764")
    assert value("18 h").unit is None and value("18 h", single_letters=True).unit is not None


def test_parts_come_apart_outside_of_brackets():
    assert commas("(1,2),(3,4)") == ["(1,2)", "(3,4)"]
    assert commas("1,000") == ["1,000"] and commas("1,000", inside=True) == ["1", "000"]
    assert commas("1,000, 2,000") == ["1,000", "2,000"]
    assert brackets("(1,(2,3)]") == ("(]", "1,(2,3)")
    assert brackets("(1)(2)") is None
    assert brackets("]1,2[") == ("()", "1,2")
    assert brackets(r"\{5\}") == ("{}", "5")
    assert joined(r"1 \text{ or } 2 or 3") == ("or", ["1", "2", "3"])


def test_precision_is_not_shared_between_threads():
    wrong = []

    def work(seed):
        for n in range(seed, seed + 40):
            if not same_value(parse(f"\\sqrt{{{n * n * 7}}}"), parse(f"{n}\\sqrt 7")):
                wrong.append(n)
            if same_value(parse(f"2^{{{n * 20}}}+\\sqrt 2"), parse(f"2^{{{n * 20}}}+\\sqrt 3")):
                wrong.append(-n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (2, 50, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
