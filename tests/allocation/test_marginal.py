"""Splits by falling gains: optimal against a dynamic program, exact for every budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.allocation.marginal import evenly, greedy, significant, split
from winnow.allocation.marginal_plan import Planned
from winnow.observed import Observed


def best_value(gains, spare):
    """The most that ``spare`` rollouts can gain, by a dynamic program that does not need falling gains."""
    best = {0: 0.0}
    for row in gains:
        worth = np.concatenate(([0.0], np.cumsum(row)))
        fresh = {}
        for used, value in best.items():
            for more in range(min(len(row), spare - used) + 1):
                fresh[used + more] = max(fresh.get(used + more, -np.inf), value + worth[more])
        best = fresh
    return best[spare]


def test_greedy_is_optimal_where_gains_fall():
    rng = np.random.default_rng(0)
    for _ in range(200):
        prompts, width = rng.integers(1, 6, 2)
        gains = -np.sort(-rng.random((prompts, width)).round(1), axis=1)  # rounded: many ties
        spare = int(rng.integers(0, prompts * width + 1))
        counts = greedy(gains, spare)
        assert counts.sum() == spare and counts.max(initial=0) <= width
        taken = sum(row[:count].sum() for row, count in zip(gains, counts, strict=True))
        assert taken == pytest.approx(best_value(gains, spare))


def test_equal_gains_go_round_by_position():
    assert greedy(np.ones((3, 4)), 5).tolist() == [2, 2, 1]
    assert greedy(np.array([[1.0, 1.0], [2.0, 1.0]]), 2).tolist() == [1, 1]
    assert greedy(np.zeros((2, 3)), 3).tolist() == [2, 1]
    nearly = np.array([[4 * 0.8 * (1 - 0.8)], [4 * 0.2 * 0.8]])
    assert nearly[0] != nearly[1] and significant(nearly)[0] == significant(nearly)[1]
    assert greedy(nearly, 1).tolist() == [1, 0] and greedy(nearly[::-1], 1).tolist() == [1, 0]


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 300),
    st.integers(1, 6),
    st.integers(0, 10),
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
)
def test_every_budget_is_spent_exactly(total, low, width, worth):
    weight, high = np.array(worth), low + width
    counts = split(total, low, high, lambda n: weight[:, None] / (n * (n + 1)), weight)
    size = len(weight)
    assert counts.sum() == total and counts.dtype == np.int64
    if total < size * low:  # fewer prompts, none of them below low unless one alone has to be
        served = counts[counts > 0]
        assert len(served) == max(1, total // low)
        assert served.min() >= min(low, total)
        left_out = significant(weight)[counts == 0]
        assert left_out.max(initial=0) <= significant(weight)[counts > 0].min()
    elif total <= size * high:
        assert counts.min() >= low and counts.max() <= high
    else:
        assert counts.max() - counts.min() <= 1


def test_split_at_its_edges():
    weight = np.array([1.0, 3.0, 2.0])

    def gain(n):
        return weight[:, None] / (n * (n + 1))

    assert split(1, 4, 8, gain, weight).tolist() == [0, 1, 0]
    assert split(4, 4, 8, gain, weight).tolist() == [0, 4, 0]
    assert split(9, 4, 8, gain, weight).tolist() == [0, 5, 4]
    assert split(12, 4, 8, gain, weight).tolist() == [4, 4, 4]
    assert split(24, 4, 8, gain, weight).tolist() == [8, 8, 8]
    assert split(25, 4, 8, gain, weight).tolist() == [8, 9, 8]
    assert split(12, 4, 4, gain, weight).tolist() == [4, 4, 4]


def test_evenly():
    assert evenly(7, 3).tolist() == [3, 2, 2]
    assert evenly(0, 3).tolist() == [0, 0, 0]
    assert evenly(0, 0).tolist() == []


def test_a_plan_is_granted_once_largest_groups_first_and_again_under_a_token_budget():
    plans = Planned(lambda total: np.array([1, 0, total - 1]), nominal=5)
    grant = plans.next(Observed(3), 9)
    assert (grant.prompts.tolist(), grant.counts.tolist()) == ([2, 0], [8, 1])
    assert plans.finished and not plans.next(Observed(3), 0)
    tokens = Planned(lambda total: np.array([1, 0, total - 1]), nominal=5)
    assert [tokens.next(Observed(3), None).counts.tolist() for _ in range(3)] == [[4, 1]] * 3
    assert not tokens.finished
