import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pilot.tallies import tally
from winnow.plan import no_signal_from_pilot

outcomes = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=8)


@given(outcomes, st.integers(2, 8))
def test_ties_is_the_share_of_subsets_that_tie(values, n):
    seen = tally("a", *values)
    if n > len(values):
        assert math.isnan(seen.ties(n))
        return
    subsets = list(combinations(values, n))
    assert seen.ties(n) == pytest.approx(sum(len(set(subset)) == 1 for subset in subsets) / len(subsets))


@given(st.integers(0, 8), st.integers(2, 8))
def test_for_passing_and_failing_it_is_the_hypergeometric_form(passed, n):
    seen = tally("a", *[1.0] * passed, *[0.0] * (8 - passed))
    assert seen.ties(n) == pytest.approx(float(no_signal_from_pilot([passed], 8, n)[0]))


def test_what_cannot_be_scored_is_no_failure():
    seen = tally("a", 1.0, None, float("nan"), 0.0)
    assert (seen.drawn, seen.scorable, seen.passed, seen.mixed) == (4, 2, 1, True)
    assert seen.reasons == {"no verdict": 1, "no reason given": 1}
    assert math.isnan(seen.ties(3))
