import itertools

import numpy as np
import pytest

from winnow.advantage import Contrast
from winnow.effect import Noise, worth
from winnow.errors import ConfigError
from winnow.selection import Marginal

EQUAL = {"noise_right": 0.67, "noise_wrong": 0.67}


def keep(rewards, groups, seed=0, **settings):
    rewards = np.array([np.nan if r is None else r for r in rewards], float)
    rng = np.random.default_rng(seed)
    return Marginal(**settings)(rewards, np.array(groups), rng)


def taught(right, wrong, kept, noise):
    """Effect of a group of which so many right and wrong rows train, from the definition."""
    size = right + wrong
    precision = (wrong / size) ** 2 * kept[0] / noise.right + (right / size) ** 2 * kept[1] / noise.wrong
    return wrong / size * precision / (1 + precision)


@pytest.mark.parametrize("toll", [0.001, 0.02, 0.1, 0.4, 2.0])
@pytest.mark.parametrize("noise", [Noise(), Noise(0.67, 0.67), Noise(3.0, 0.1)])
def test_worth_is_the_best_choice_of_rows(toll, noise):
    for right, wrong in itertools.product(range(1, 6), repeat=2):
        found = worth(right, wrong, wrong / (right + wrong), noise, toll)
        choices = itertools.product(range(right + 1), range(wrong + 1))
        best = max(taught(right, wrong, kept, noise) - toll * sum(kept) for kept in choices)
        assert float(found.effect) == pytest.approx(taught(right, wrong, (found.right, found.wrong), noise))
        assert float(found.effect) - toll * int(found.rows) == pytest.approx(best, abs=1e-9)


def test_worth_without_contrast_or_toll():
    found = worth([3, 0, 2], [0, 3, 1], [0.2, 0.9, 0.3], Noise(), 0.0)
    assert found.effect[:2].tolist() == [0.0, 0.0] and found.rows.tolist() == [0, 0, 3]


@pytest.mark.parametrize("price", [0.3, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("noise", [Noise(), Noise(0.67, 0.67)])
@pytest.mark.parametrize("seed", range(6))
def test_the_rows_make_the_quotient_largest(price, noise, seed):
    rng = np.random.default_rng(seed)
    right, wrong, rollouts = rng.integers(1, 4, 3), rng.integers(1, 4, 3), 24

    def quotient(kept):
        effect = sum(
            taught(*sizes, rows, noise) for sizes, rows in zip(zip(right, wrong, strict=True), kept, strict=True)
        )
        return effect / (rollouts + price * sum(map(sum, kept)))

    rule = Marginal(price=price, noise_right=noise.right, noise_wrong=noise.wrong)
    _, chosen = rule.worth(right, wrong, rollouts)
    choices = [list(itertools.product(range(r + 1), range(w + 1))) for r, w in zip(right, wrong, strict=True)]
    best = max(map(quotient, itertools.product(*choices)))
    kept = list(zip(chosen.right.tolist(), chosen.wrong.tolist(), strict=True))
    assert quotient(kept) == pytest.approx(best, rel=1e-9)


def test_price_zero_keeps_everything_scorable():
    found = keep([1, 0, None, 0, 1, 1], [0, 0, 0, 0, 1, 1], price=0.0)
    assert found.rows.tolist() == [0, 1, 3, 4, 5] and found.weights.tolist() == [1.0] * 5


def test_one_right_row_of_each_contrast_by_default():
    rewards, groups = [1, 1, 1, 0, 0, 1, 0, 0], [0] * 4 + [1] * 4
    kept = [tuple(keep(rewards, groups, seed=seed).rows.tolist()) for seed in range(60)]
    assert {len(rows) for rows in kept} == {2}
    assert {row for rows in kept for row in rows} == {0, 1, 2, 5}, "which one is drawn, by the seed"


def test_kept_rows_weigh_as_the_contrast_of_what_is_kept():
    """Contrast times weight is the contrast of least noise of the kept rows, with the group's own pass rate."""
    rewards, groups = [1.0] * 4 + [0.0] * 4, [0] * 8
    found = keep(rewards, groups, price=4.0, **EQUAL)
    assert 0 < len(found.rows) < 8
    advantages = Contrast(**EQUAL)(np.array(rewards), groups)[found.rows] * found.weights
    precision = len(found.rows) * 0.25 / 0.67
    assert np.abs(advantages) == pytest.approx(0.25 / 0.67 / (1 + precision))


def test_dear_rows_drop_contrasts_that_teach_little():
    rewards, groups = [1, 0] + [1] * 15 + [0], [0] * 2 + [1] * 16
    assert set(keep(rewards, groups, price=100.0).rows.tolist()) <= {0, 1}


def test_groups_without_contrast_keep_their_rows():
    found = keep([1, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 2], price=100.0)
    assert found.rows.tolist() == list(range(6)) and found.weights.tolist() == [1.0] * 6


def test_two_rewards_are_two_sides_and_three_keep_their_rows():
    assert keep([5, 2, 2, -1, 1, 1], [0, 0, 0, 1, 1, 1], seed=3).rows.tolist() == [
        0,
        *keep([0, 1, 1], [0] * 3, seed=3).rows + 3,
    ]
    graded = keep([0.4, 0.3, 0.2, 0.0], [0] * 4, price=100.0)
    assert graded.rows.tolist() == [0, 1, 2, 3] and graded.weights.tolist() == [1.0] * 4


def test_order_of_groups_and_ragged_sizes():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 9, 60)
    rewards = (rng.random(60) < 0.4).astype(float)
    order = rng.permutation(60)
    one, two = keep(rewards, groups, **EQUAL), keep(rewards[order], groups[order] * 7 - 3, **EQUAL)
    counts = [
        sorted(zip(*np.unique(np.array([groups[r], rewards[r]]), axis=1, return_counts=True)[1:], strict=True))
        for r in (one.rows, order[two.rows])
    ]
    assert counts[0] == counts[1]
    assert sorted(one.weights) == pytest.approx(sorted(two.weights))


def test_nothing_scorable():
    assert len(keep([None, None], [0, 0]).rows) == 0
    assert len(keep([], []).rows) == 0


@pytest.mark.parametrize("bad", [{"price": -1}, {"price": np.inf}, {"noise_right": 0}, {"noise_wrong": np.nan}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=next(iter(bad)).removeprefix("noise_")):
        Marginal(**bad)
