"""Selection against brute force, on ragged groups with ties, offsets, NaN, float32 and odd labels."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.selection import max_reward, max_variance, percentile, random

RULES = [max_variance, max_reward, percentile, random]

levels = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, -2.0])
reals = st.floats(-100, 100, allow_nan=False, width=32)
rewards_of_a_group = st.lists(levels | reals, min_size=1, max_size=9)
ragged = st.lists(rewards_of_a_group, min_size=1, max_size=5)
ms = st.integers(1, 10) | st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0])


def flatten(groups, labels=None):
    labels = labels or list(range(len(groups)))
    rewards = np.array([reward for group in groups for reward in group])
    return rewards, np.array([label for label, group in zip(labels, groups, strict=True) for _ in group])


def wanted(m, n):
    return min(m, n) if isinstance(m, int) else max(1, int(np.floor(m * n + 1e-9)))


def brute_force(rewards, m):
    return max(np.var(subset) for subset in itertools.combinations(rewards, m))


@given(ragged, ms)
@settings(max_examples=200, deadline=None)
def test_max_variance_is_optimal_in_every_group(groups, m):
    rewards, labels = flatten(groups)
    rows = max_variance(rewards, m, labels).rows
    for label, group in enumerate(groups):
        kept = rewards[rows[labels[rows] == label]]
        count = wanted(m, len(group))
        assert len(kept) == count
        assert np.var(kept) == pytest.approx(brute_force(group, count), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
@given(groups=ragged, m=ms, data=st.data())
@settings(max_examples=60, deadline=None)
def test_shuffled_rows_give_the_same_rewards_per_group(rule, groups, m, data):
    labels = data.draw(st.lists(st.integers(-1000, 1000), min_size=len(groups), max_size=len(groups), unique=True))
    rewards, names = flatten(groups, labels)
    order = np.array(data.draw(st.permutations(range(len(rewards)))))
    seed = 7 if rule is random else None
    straight = rule(rewards, m, names, seed=seed)
    shuffled = rule(rewards[order], m, names[order], seed=seed)
    for label, group in zip(labels, groups, strict=True):
        one = rewards[straight.rows][names[straight.rows] == label]
        two = rewards[order][shuffled.rows][names[order][shuffled.rows] == label]
        assert len(one) == len(two) == wanted(m, len(group))
        if rule is not random:
            assert sorted(one) == sorted(two)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=12), st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_an_offset_changes_nothing(values, m):
    rewards = np.array(values) / 8
    assert max_variance(rewards, m).rows.tolist() == max_variance(rewards + 1e8, m).rows.tolist()
    assert max_variance(rewards, m).rows.tolist() == max_variance(rewards - 1e8, m).rows.tolist()


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_float32_is_compared_in_float64(values, m):
    single = np.array(values, np.float32)
    assert max_variance(single, m).rows.tolist() == max_variance(single.astype(float), m).rows.tolist()


@pytest.mark.parametrize("rule", RULES)
@given(groups=ragged, m=ms, data=st.data())
@settings(max_examples=60, deadline=None)
def test_unscorable_rows_change_nothing_for_the_others(rule, groups, m, data):
    rewards, labels = flatten(groups)
    broken = np.array(data.draw(st.lists(st.booleans(), min_size=len(rewards), max_size=len(rewards))))
    rewards = np.where(broken, data.draw(st.sampled_from([np.nan, np.inf, -np.inf])), rewards)
    rows = rule(rewards, m, labels, seed=3 if rule is random else None).rows
    assert np.isfinite(rewards[rows]).all()
    alone = np.flatnonzero(~broken)
    if rule is not random:
        assert rows.tolist() == alone[rule(rewards[alone], m, labels[alone]).rows].tolist()


def test_ties_fall_to_the_first_row_or_to_the_seed():
    rewards = np.array([1.0] * 20 + [0.0] * 20)
    assert max_variance(rewards, 4).rows.tolist() == [0, 1, 20, 21]
    draws = {tuple(max_variance(rewards, 4, seed=seed).rows.tolist()) for seed in range(8)}
    assert len(draws) > 4
    assert all(sum(row < 20 for row in rows) == 2 for rows in draws)
    assert max_variance(rewards, 4, seed=5).rows.tolist() == max_variance(rewards, 4, seed=5).rows.tolist()


def test_random_is_uniform_over_subsets():
    counts = np.zeros(6)
    for seed in range(3000):
        counts[random(np.arange(6.0), 2, seed=seed).rows] += 1
    assert np.abs(counts / 3000 - 1 / 3).max() < 0.03


def test_block_edges_do_not_show():
    rng = np.random.default_rng(0)
    rewards = rng.random((5000, 64))
    labels = np.repeat(np.arange(5000), 64)
    rows = max_variance(rewards.ravel(), 16, labels).rows.reshape(5000, 16)
    for group in (0, 1023, 1024, 2047, 2048, 4999):
        assert (rows[group] - 64 * group).tolist() == max_variance(rewards[group], 16).rows.tolist()
