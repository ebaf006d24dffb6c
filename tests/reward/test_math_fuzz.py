"""Whatever is written, the verifier answers: no exception, no hang, and a readable gold equals itself."""

import re
import time

import pytest

pytest.importorskip("math_verify")

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from winnow.reward.extract import EXTRACTORS, lenient_answer, strict_answer
from winnow.reward.math import library, solver, unreadable, verify  # noqa: F401 (their imports take seconds, which are no hang)

# Seconds of this process, so that a busy machine does not matter; a hang would take much longer.
PATIENCE = 5.0
FUZZ = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow], derandomize=True)

TOKENS = r"""
1 2 10 0 7.5 .5 12,500 x y n X e i \pi \infty \frac \frac{1}{2} \frac12 \sqrt \sqrt[3]{2} ^ _ ^2 ^{2} _1 { } ( ) [ ]
\{ \} | , ; : = < > \le \ge \ne \in \cup \cap \setminus \pm \mp + - * / \cdot \times \div ! % \% $ \$ \text{cm}
\text{or} \text{and} or and \sin \log_2 \ln \binom{5}{2} \lfloor \rfloor \left \right \begin{pmatrix} \end{pmatrix} &
\\ \ldots ... \approx \equiv \bmod \boxed \boxed{ \overline{3} \int \sum_{k=1}^{3} \lim \mathbb{R} \emptyset A (B) yes
dogs √ ² ½ π − ∪ ≤ ° ∞ 9999999999 \to million hours per
"""
PIECES = re.split(r"\s+", TOKENS.strip())

soup = st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)
tight = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)
anything = st.one_of(soup, tight, st.text(max_size=40))


@FUZZ
@given(gold=anything, answer=anything, lenient=st.booleans())
@example(gold="5", answer="(" * 500, lenient=False)
@example(gold="5", answer="\\sqrt" * 300, lenient=False)
@example(gold="5", answer="-" * 900, lenient=False)
@example(gold="5", answer="2^" * 300 + "2", lenient=False)
@example(gold="5", answer="5" + "!" * 300, lenient=False)
@example(gold="5", answer="1/" * 300 + "1", lenient=False)
@example(gold="5", answer="{" * 400 + "5" + "}" * 400, lenient=False)
@example(gold="5", answer="\\frac{1}{" * 100 + "5" + "}" * 100, lenient=False)
@example(gold="5", answer="9" * 5000, lenient=False)
@example(gold="5", answer="1e999999999", lenient=False)
@example(gold="9" * 900, answer="9" * 900 + ".0", lenient=False)
@example(gold="x", answer="x^{999999999}", lenient=False)
@example(gold="x", answer="\\sin(" * 60 + "x" + ")" * 60, lenient=False)
@example(gold="1,2,3", answer=",".join(map(str, range(300))), lenient=False)
@example(gold="\\int_0^1 x dx", answer="9^{9^{9^{9}}}", lenient=False)
@example(gold="x > 1", answer="x^{6} + x^{5} > 7", lenient=False)
def test_any_pair_gets_a_verdict_soon(gold, answer, lenient):
    start = time.process_time()
    verdict = verify(gold, f"so \\boxed{{{answer}}}", "lenient" if lenient else "strict")
    assert verdict.outcome in (0.0, 1.0, None) and verdict.score == verdict.outcome
    assert (verdict.outcome is None) == bool(unreadable(gold))
    assert time.process_time() - start < PATIENCE


@settings(FUZZ, max_examples=50)
@given(gold=anything)
@example(gold="\\frac{1}{2}")
@example(gold="9^{9^{9^{9}}}")
@example(gold="\\int_0^1 x dx")
def test_a_readable_gold_in_a_box_is_right(gold):
    assume(not unreadable(gold))
    assert verify(gold, f"so \\boxed{{{gold}}}").outcome == 1.0


@FUZZ
@given(completion=st.one_of(anything, st.text(alphabet="\\boxed{}<answer>/#$* 0123456789\n", max_size=120)))
def test_extractors_find_text_of_the_completion_or_nothing(completion):
    for extract in (*EXTRACTORS.values(), strict_answer, lambda text: lenient_answer(text)[0]):
        answer = extract(completion)
        assert answer is None or (answer and answer in completion)


@FUZZ
@given(inner=st.text(max_size=30), before=st.text(alphabet="ab c{}$#\n", max_size=30))
def test_the_last_closed_box_is_found_by_counting_braces(inner, before):
    depth = 0
    for character in inner:
        depth += (character == "{") - (character == "}")
        assume(depth >= 0)
    assume(depth == 0 and "\\" not in inner and inner.strip())
    assert strict_answer(f"{before}\\boxed{{1}} then \\boxed{{{inner}}} and #### 7") == inner.strip()


@FUZZ
@given(n=st.integers(-(10**12), 10**12), off=st.integers(-3, 3), places=st.integers(0, 3))
def test_integers_are_compared_exactly(n, off, places):
    shown = f"{n + off:,}" + ("." + "0" * places if places else "")
    assert verify(n, f"\\boxed{{{shown}}}").outcome == float(off == 0)


@FUZZ
@given(a=st.integers(-50, 50), b=st.integers(1, 50), c=st.integers(-50, 50), d=st.integers(1, 50))
def test_fractions_are_compared_exactly(a, b, c, d):
    expected = float(a * d == c * b)
    assert verify(f"\\frac{{{a}}}{{{b}}}", f"\\boxed{{{c}/{d}}}").outcome == expected
    assert verify(f"{a}/{b}", f"\\boxed{{x = \\dfrac{{{c}}}{{{d}}}}}").outcome == expected


@settings(FUZZ, max_examples=40)
@given(
    roots=st.lists(st.integers(-9, 9), min_size=1, max_size=3),
    others=st.lists(st.integers(-9, 9), min_size=1, max_size=3),
    lead=st.integers(1, 5),
)
def test_polynomials_are_equal_when_their_roots_are(roots, others, lead):
    expected = float(sorted(roots) == sorted(others))
    assert verify(factored(lead, roots), f"\\boxed{{{expanded(lead, others)}}}").outcome == expected


def factored(lead, roots):
    return f"{lead}" + "".join(f"(x{-root:+d})" for root in roots)


def expanded(lead, roots):
    coefficients = [lead]
    for root in roots:
        coefficients = [a - root * b for a, b in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    degree = len(roots)
    return "".join(f"{c:+d}x^{{{degree - place}}}" for place, c in enumerate(coefficients)).lstrip("+")


@pytest.mark.parametrize(
    "piece", ["<answer>", "final answer ", "\\boxed{", "**", "$", "answer is ", " ", "\n", "#### ", "\\text{", "1,"]
)
@pytest.mark.parametrize("before", ["", "final answer", "the answer", "\\boxed{5"])
def test_long_completions_take_time_in_proportion(before, piece):
    completion = before + piece * (60_000 // len(piece))
    start = time.process_time()
    for mode in ("strict", "lenient"):
        assert verify("x+1", completion, mode).outcome == 0.0
        assert verify("7", completion + "}", mode).outcome == 0.0
    assert time.process_time() - start < PATIENCE
