import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, pearsonr, rankdata, spearmanr

from tests.conftest import CASES, numbers
from winnow.audit.lengths import ranks
from winnow.audit.stats import Moments, Within, wilson


@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_is_that_of_scipy(successes, more):
    total = successes + more
    expected = binomtest(successes, total).proportion_ci(method="wilson")
    assert wilson(successes, total) == pytest.approx((expected.low, expected.high))
    assert wilson(total, total)[1] == 1.0


def test_of_nothing_nothing_is_known():
    assert wilson(0, 0) == (0.0, 1.0)


def test_means_leave_out_what_is_missing():
    case = CASES["LOG-01"]
    moments = Moments()
    for value in numbers(case["input"]["values"]):
        moments.add(value)
    found = moments.as_dict()
    assert (found["mean"], found["count"]) == (case["expected"]["mean"], case["expected"]["count"])
    assert found["missing"] == 2 and Moments().as_dict()["mean"] is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(-1e9, 1e9))
def test_moments_are_those_of_numpy(values, offset):
    moments = Moments()
    shifted = [value + offset for value in values]
    for value in shifted:
        moments.add(value)
    found = moments.as_dict()
    assert found["mean"] == pytest.approx(np.mean(shifted))
    assert found["std"] == pytest.approx(np.std(shifted), rel=1e-6, abs=1e-6)
    assert (found["min"], found["max"]) == (min(shifted), max(shifted))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_ranks_are_those_of_scipy(values):
    assert ranks(np.array(values, dtype=float)).tolist() == rankdata(values).tolist()


def test_within_one_group_it_is_the_plain_correlation():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 40))
    pearson, spearman = Within(), Within()
    pearson.add(x, y)
    spearman.add(ranks(x), ranks(y))
    assert pearson.as_dict()["r"] == pytest.approx(pearsonr(x, y).statistic)
    assert spearman.as_dict()["r"] == pytest.approx(spearmanr(x, y).statistic)


def test_differences_between_prompts_do_not_count():
    """Long answers are right on one prompt and short ones wrong on another: no reason to write longer ones."""
    rng = np.random.default_rng(1)
    within = Within()
    for level in range(200):
        within.add(level + rng.normal(size=8), level + rng.normal(size=8))
    found = within.as_dict()
    assert found["low"] < 0 < found["high"] and abs(found["r"]) < 0.1


def test_the_interval_is_that_of_resampled_groups():
    rng = np.random.default_rng(2)
    groups = []
    for _ in range(100):
        x = rng.normal(size=8)
        groups.append((x, 0.5 * x + rng.normal(size=8)))
    within = Within()
    for x, y in groups:
        within.add(x, y)
    sums = np.array([[(x - x.mean()) @ (y - y.mean()), np.ptp(x) and ((x - x.mean()) ** 2).sum(),
                      ((y - y.mean()) ** 2).sum()] for x, y in groups])  # fmt: skip
    drawn = sums[rng.integers(0, 100, size=(4000, 100))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / np.sqrt(drawn[:, 1] * drawn[:, 2]), [0.025, 0.975])
    found = within.as_dict()
    assert (found["low"], found["high"]) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))


def test_groups_in_which_nothing_varies_say_nothing():
    within = Within()
    within.add(np.ones(4), np.arange(4.0))
    within.add(np.array([1.0]), np.array([2.0]))
    assert within.as_dict() == {"r": None, "low": None, "high": None, "groups": 0}
