"""The worked examples of the specification: selection (18.1) and the SEL cases."""

import itertools

import numpy as np
import pytest
from tests.conftest import CASES, numbers

from winnow.advantage import grpo
from winnow.errors import ConfigError
from winnow.selection import all_rows, max_reward, max_variance, percentile

P1 = [0, 0.1, 0.2, 0.5, 0.9, 1, 1, 0.3]
P9 = [2, 1, 1, 0.5, 2, 0, 1.5, 1]


@pytest.mark.parametrize(
    ("rewards", "m", "variance", "kept"),
    [
        (P1, 4, 0.226875, [0, 0.1, 1, 1]),
        ([10, 1, 0, 0, 0, 0], 4, 18.75, [0, 0, 0, 10]),
        ([0, 9, 10, 10, 10, 10], 4, 18.75, [0, 10, 10, 10]),
        ([1, 0, 0, 1, 0, 0, 1, 0], 4, 0.25, [0, 0, 1, 1]),
        ([0, 0, 1, 0, 0, 0, 0, 0], 4, 0.1875, [0, 0, 0, 1]),
        ([1, 1, 1, 1, 0, 0, 0, 0], 5, 0.24, [0, 0, 0, 1, 1]),
        ([1] * 6, 3, 0.0, [1, 1, 1]),
        ([0.3, 0.7, 0.1, 0.9], 2, 0.16, [0.1, 0.9]),
        ([0.3, 0.7, 0.1], 3, 0.0622222222, [0.1, 0.3, 0.7]),
        (P9, 4, 0.796875, [0, 0.5, 2, 2]),
    ],
    ids=["P1", "P2", "P2b", "P3", "P4", "P5", "P6", "P7", "P8", "P9"],
)
def test_max_variance(rewards, m, variance, kept):
    chosen = np.array(rewards, float)[max_variance(rewards, m).rows]
    assert sorted(chosen) == kept
    assert chosen.var() == pytest.approx(variance, abs=1e-9)


def test_rows_where_the_optimum_is_unique():
    assert max_variance(P1, 4).rows.tolist() == [0, 1, 5, 6]
    assert max_variance(P9, 4).rows.tolist() == [0, 3, 4, 5]


def test_advantages_after_selection():
    kept = np.array(P1)[max_variance(P1, 4).rows]
    assert grpo(kept) == pytest.approx([-0.95437, -0.77259, 0.86348, 0.86348], abs=1e-5)
    assert grpo(kept, ddof=0, eps=0) == pytest.approx([-1.10221, -0.89227, 0.99724, 0.99724], abs=1e-5)
    before = grpo(P1)[max_variance(P1, 4).rows]
    assert before == pytest.approx([-1.20732, -0.96586, 1.20732, 1.20732], abs=1e-5)


def test_max_reward_takes_the_first_of_equal_rewards():
    selection = max_reward(P9, 4)
    assert selection.rows.tolist() == [0, 1, 4, 6]
    assert grpo(np.array(P9)[selection.rows]) == pytest.approx([0.78319, -1.30531, 0.78319, -0.26106], abs=1e-5)


def test_percentile_takes_mid_quantiles():
    assert percentile(P9, 4).rows.tolist() == [2, 3, 4, 6]


@pytest.mark.parametrize("n", range(2, 13))
def test_binary_closed_form(n):
    for correct, m in itertools.product(range(n + 1), range(1, n + 1)):
        rewards = np.array([1.0] * correct + [0.0] * (n - correct))
        positive = min(correct, m // 2)
        negative = min(n - correct, m - positive)
        positive = min(correct, m - negative)
        share = positive / m
        assert rewards[max_variance(rewards, m).rows].var() == pytest.approx(share * (1 - share), abs=1e-12)


@pytest.mark.parametrize("name", ["SEL-01", "SEL-02", "SEL-04", "SEL-05", "SEL-07"])
def test_cases(name):
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    rewards = np.array(numbers(given["rewards"]))
    rows = max_variance(rewards, given["m"]).rows
    kept = rewards[rows]
    if "selected_rewards_sorted" in expected:
        assert sorted(kept) == expected["selected_rewards_sorted"]
    if "population_variance" in expected:
        assert kept.var() == pytest.approx(expected["population_variance"])
    if "n_selected" in expected:
        assert len(rows) == expected["n_selected"]
    if "advantages" in expected:
        assert grpo(kept).tolist() == expected["advantages"]
    if "advantages_normalised_over_subset" in expected:
        for key, ddof in (("std_ddof0", 0), ("std_ddof1", 1)):
            wanted = sorted(expected["advantages_normalised_over_subset"][key])
            assert sorted(grpo(kept, ddof=ddof, eps=0)) == pytest.approx(wanted, abs=1e-6)
            wanted = expected["advantages_normalised_over_full_group"][key]
            assert sorted(grpo(rewards, ddof=ddof, eps=0)[rows]) == pytest.approx(sorted(wanted), abs=1e-6)
    assert set(expected.get("must_include_index", [])) <= set(rows.tolist())
    assert not set(expected.get("never_selected", [])) & set(rows.tolist())
    assert rows.tolist() == expected.get("selected_indices", rows.tolist())
    assert rows.tolist() == max_variance(rewards, given["m"]).rows.tolist()


def test_all_rows_keeps_what_has_a_reward():
    assert all_rows([1, None, float("inf"), 0]).rows.tolist() == [0, 3]


@pytest.mark.parametrize("m", [0, -1, 0.0, 1.5, True, "4", None])
def test_a_wrong_m_is_refused(m):
    with pytest.raises(ConfigError, match="m="):
        max_variance([1.0, 0.0], m)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="shape"):
        max_variance([[1.0, 0.0]], 1)
    with pytest.raises(ValueError, match=r"\(2,\)"):
        max_variance([1.0, 0.0], 1, [0, 0, 0])
