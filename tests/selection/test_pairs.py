import itertools

import numpy as np
import pytest

from winnow.errors import ConfigError
from winnow.selection import Pairs


def keep(rewards, groups, expected=np.nan, seed=0, **settings):
    rewards = np.array([np.nan if r is None else r for r in rewards], float)
    column = np.broadcast_to(np.asarray(expected, float), rewards.shape)
    rng = np.random.default_rng(seed)
    return Pairs(**settings)(rewards, np.array(groups), rng, outcomes=rewards, expected=column)


def quotient(kept, rarer, failing, rollouts, price, noise):
    kept = np.array(kept)
    information = rarer * kept / np.maximum(rarer + kept, 1)
    rows = np.where(kept > 0, rarer + kept, 0).sum()
    return (failing * information / (information + noise)).sum() / (rollouts + price * rows)


@pytest.mark.parametrize("price", [0.3, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("seed", range(12))
def test_counts_make_the_quotient_largest(price, seed):
    rng = np.random.default_rng(seed)
    rarer, other = rng.integers(1, 4, 3), rng.integers(3, 6, 3)
    failing, rollouts = rng.uniform(0.05, 0.95, 3), 40
    chosen = Pairs(price=price).counts(rarer, other, failing, rollouts)
    best = max(
        quotient(kept, rarer, failing, rollouts, price, 0.67)
        for kept in itertools.product(*(range(most + 1) for most in other))
    )
    assert quotient(chosen, rarer, failing, rollouts, price, 0.67) == pytest.approx(best, rel=1e-12)


def test_price_zero_keeps_everything_scorable():
    assert keep([1, 0, None, 0, 1, 1], [0, 0, 0, 0, 1, 1], price=0.0).rows.tolist() == [0, 1, 3, 4, 5]


def test_the_rarer_side_stays_and_the_other_is_drawn():
    rewards, groups = [1] + [0] * 15 + [0] + [1] * 15, [0] * 16 + [1] * 16
    kept = [set(keep(rewards, groups, expected=0.3, seed=seed, price=4.0).rows.tolist()) for seed in range(40)]
    assert all({0, 16} <= rows for rows in kept)
    assert all(len(rows) == len(kept[0]) < 32 for rows in kept)
    assert set.union(*kept) == set(range(32))


def test_dear_rows_drop_contrasts_that_teach_little():
    rewards, groups = [1, 0, 1, 0], [0, 0, 1, 1]
    found = keep(rewards, groups, expected=[0.5, 0.5, 0.99, 0.99], price=1000.0)
    assert found.rows.tolist() == [0, 1]


def test_groups_without_contrast_keep_their_rows():
    assert keep([1, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 2], price=100.0).rows.tolist() == list(range(6))


def test_order_of_groups_and_ragged_sizes():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 9, 60)
    rewards = (rng.random(60) < 0.4).astype(float)
    order = rng.permutation(60)
    one, two = keep(rewards, groups, expected=0.4), keep(rewards[order], groups[order] * 7 - 3, expected=0.4)
    counts = [
        sorted(zip(*np.unique(np.array([groups[r], rewards[r]]), axis=1, return_counts=True)[1:], strict=True))
        for r in (one.rows, order[two.rows])
    ]
    assert counts[0] == counts[1]


def test_nothing_scorable():
    assert len(keep([None, None], [0, 0]).rows) == 0
    assert len(keep([], []).rows) == 0


@pytest.mark.parametrize("bad", [{"price": -1}, {"price": np.inf}, {"noise": 0}, {"noise": np.nan}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        Pairs(**bad)
