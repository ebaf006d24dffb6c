import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.compare.statistics import band, bootstrap, mean, median, paired_difference, to_target

INF = math.inf


@pytest.mark.parametrize(
    ("cost", "accuracy", "target", "expected"),
    [
        ([0, 10, 20], [0.2, 0.4, 0.6], 0.5, 15.0),  # linear between evaluations
        ([0, 10, 20], [0.2, 0.4, 0.6], 0.4, 10.0),  # reached means at or above
        ([0, 10, 20], [0.5, 0.4, 0.6], 0.5, 0.0),  # before training already
        ([0, 10, 20], [0.2, 0.4, 0.6], 0.7, INF),  # never
        ([0, 10, 20, 30], [0.2, 0.6, 0.3, 0.6], 0.5, 7.5),  # a later fall changes nothing
        ([0, 10, 20], [0.2, math.nan, 0.6], 0.4, 10.0),  # an evaluation that is missing is bridged
        ([0, math.nan, 20], [0.2, 0.5, 0.6], 0.5, 15.0),
    ],
)
def test_to_target(cost, accuracy, target, expected):
    assert to_target(np.array(cost, float), np.array(accuracy, float), target) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 1))
def test_to_target_lies_between_the_evaluations_around_it(accuracy, target):
    cost = np.arange(len(accuracy), dtype=float)
    got = to_target(cost, np.array(accuracy), target)
    first = next((place for place, value in enumerate(accuracy) if value >= target), None)
    assert got == INF if first is None else max(0, first - 1) <= got <= first


@pytest.mark.parametrize(
    ("values", "expected"), [([3, 1, 2], 2), ([1, 2, 3, INF], 2.5), ([1, 2, INF, INF], INF), ([1, INF, INF], INF)]
)
def test_median_with_censored_seeds(values, expected):
    assert median(np.array(values, float)) == expected


def test_bootstrap_agrees_with_all_resamples_of_a_small_sample():
    sample = [1.0, 2.0, 4.0]
    exact = [np.mean(draw) for draw in itertools.product(sample, repeat=3)]
    low, high = np.quantile(exact, [0.025, 0.975], method="inverted_cdf")
    got = bootstrap(sample, mean, resamples=40_000)
    assert (got.value, got.low, got.high) == pytest.approx((7 / 3, low, high))
    assert got == bootstrap(sample, mean, resamples=40_000)


def test_censored_seeds_are_counted_and_open_the_interval():
    got = bootstrap([100.0, 120.0, 130.0, INF, INF], median)
    assert (got.value, got.seeds, got.censored) == (130.0, 5, 2)
    assert got.low >= 100.0 and got.high == INF
    assert got.as_dict() == {"value": 130.0, "low": got.low, "high": None, "seeds": 5, "censored": 2}


def test_no_seed_is_not_a_number_and_one_has_no_width():
    assert math.isnan(bootstrap([], mean).value)
    one = bootstrap([0.5], mean)
    assert one.low == one.high == one.value == 0.5


def test_pairs_cancel_what_seeds_share():
    base = np.array([0.1, 0.5, 0.9, np.nan])
    got = paired_difference(base + 0.02, base)
    assert (got.value, got.low, got.high) == pytest.approx((0.02, 0.02, 0.02))
    assert got.seeds == 3


def test_band_holds_the_mean():
    curves = np.random.default_rng(0).normal(size=(6, 10))
    low, high = band(curves)
    assert np.all(low < curves.mean(axis=0)) and np.all(curves.mean(axis=0) < high)
