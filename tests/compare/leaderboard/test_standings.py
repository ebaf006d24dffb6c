import itertools
import math

import numpy as np
import pytest

from winnow.compare.leaderboard.standings import mean_ranks, ranks, standings

NAN = math.nan


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.5, 0.7, 0.6], [3, 1, 2]),
        ([0.5, 0.7, 0.7], [3, 1.5, 1.5]),
        ([0.5, NAN, 0.7], [2, NAN, 1]),
        ([0.5, 0.5, 0.5], [2, 2, 2]),
        ([NAN], [NAN]),
    ],
)
def test_ranks(scores, expected):
    np.testing.assert_array_equal(ranks(np.array(scores)), expected)


def test_rank_and_interval_of_a_table_made_by_hand():
    # Seeds: A always first. B and C change places: B leads by 0.1 on seed 0, C by 0.3 on seed 1.
    scores = np.array([[0.9, 0.9], [0.6, 0.4], [0.5, 0.7]])
    a, b, c = standings(scores)
    assert (a.value, a.low, a.high) == (1, 1, 1)
    assert (b.value, c.value) == (3, 2)
    # Of the four resamples (0,0), (0,1), (1,0), (1,1) only the first puts B before C.
    assert (b.low, b.high, c.low, c.high) == (2, 3, 2, 3)
    assert [e.seeds for e in (a, b, c)] == [2, 2, 2]


def test_intervals_agree_with_all_resamples():
    scores = np.random.default_rng(3).normal(size=(4, 3))
    drawn = [ranks(scores[:, list(places)].mean(axis=1)) for places in itertools.product(range(3), repeat=3)]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf")
    found = standings(scores)
    np.testing.assert_array_equal([e.low for e in found], low)
    np.testing.assert_array_equal([e.high for e in found], high)


def test_missing_runs_count_for_nobody():
    a, b, c = standings(np.array([[0.5, NAN, NAN], [0.4, 0.4, 0.4], [NAN, NAN, NAN]]))
    assert (a.value, a.low, a.high, a.seeds) == (1, 1, 1, 1)
    assert (b.value, b.seeds) == (2, 3)
    assert math.isnan(c.value) and c.seeds == 0


def test_mean_rank_is_over_tasks_and_only_of_recipes_that_ran_on_all():
    one = np.array([[0.9, 0.9], [0.5, 0.5], [0.7, 0.7]])
    two = np.array([[0.1, 0.1], [0.5, 0.5], [NAN, NAN]])
    a, b, c = mean_ranks([one, two])
    # Without the third recipe: ranks 1, 2 on the first task and 2, 1 on the second.
    assert (a.value, b.value) == (1.5, 1.5)
    assert math.isnan(c.value) and c.seeds == 0


def test_order_of_recipes_does_not_matter():
    scores = np.random.default_rng(1).normal(size=(5, 4))
    there, back = standings(scores), standings(scores[::-1])
    assert [e.value for e in there] == [e.value for e in back[::-1]]
    assert [e.low for e in there] == [e.low for e in back[::-1]]
