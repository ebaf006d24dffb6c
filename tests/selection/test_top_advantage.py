import itertools

import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage import grpo
from winnow.errors import ConfigError
from winnow.selection.top_advantage import TopAdvantage


def kept(rewards, groups, seed=0, **settings):
    rewards = np.asarray(rewards, float)
    rule = TopAdvantage(**settings)
    return rule(rewards, groups, np.random.default_rng(seed), advantages=grpo(rewards, groups)).rows.tolist()


def test_the_largest_of_each_group():
    assert kept([1, 0, 0.5, 0.5, 0, 3, 0, 0], [0] * 4 + [1] * 4, m=2)[:2] == [0, 1]
    assert 5 in kept([1, 0, 0.5, 0.5, 0, 3, 0, 0], [0] * 4 + [1] * 4, m=1)


def test_ties_fall_on_both_sides():
    found = {tuple(kept([1, 1, 0, 0], [0] * 4, seed, m=2)) for seed in range(60)}
    assert len(found) == 6


def test_across_the_batch_one_group_can_be_emptied():
    rewards, groups = [1] + [0] * 7 + [1] * 4 + [0] * 4, [0] * 8 + [1] * 8
    rows = kept(rewards, groups, m=4, scope="batch")
    assert len(rows) == 8 and rows[0] == 0 and min(rows[1:]) >= 8


@pytest.mark.parametrize("seed", range(10))
def test_d3s_is_the_subset_of_largest_variance(seed):
    rng = np.random.default_rng(seed)
    groups, rewards = rng.integers(0, 3, 9), rng.integers(0, 5, 9) / 4
    advantages = grpo(rewards, groups)
    rows = kept(rewards, groups, m=4 / 9, rank="variance", scope="batch")
    best = max(np.var(advantages[list(some)]) for some in itertools.combinations(range(9), 4))
    assert len(rows) == 4 and np.var(advantages[rows]) == pytest.approx(best)


def test_settings_and_worlds():
    for wrong in ({"m": 0}, {"rank": "reward"}, {"scope": "device"}):
        with pytest.raises(ConfigError):
            TopAdvantage(**wrong)
    for name in ("top-advantage", "d3s"):
        check_worlds(winnow.recipe(name))
        check_worlds(winnow.recipe(name, m=2))
