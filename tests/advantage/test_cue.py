import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage import grpo
from winnow.advantage.cue import Cue
from winnow.errors import ConfigError


def worth(rewards, answers, groups=None, **settings):
    rewards = np.asarray(rewards, float)
    groups = np.zeros(len(rewards), int) if groups is None else groups
    rule = Cue(**{"ddof": 0, "eps": 0.0, **settings})
    return rule(rewards, groups, answers=np.array(answers, object), outcomes=rewards)


FIVE = [1] * 5 + [0] * 3, ["a"] * 3 + ["b", "c"] + ["a"] * 3
NINE = [1] * 9 + [0] * 3, ["a"] * 8 + ["b"] + [None] * 3


@pytest.mark.parametrize(
    ("alpha", "common", "rare"), [(0, 0.774597, 0.774597), (0.8, 0.495491, 1.193255), (1, 0.430331, 1.290994)]
)
def test_d8_three_and_two_single_clusters(alpha, common, rare):
    found = worth(*FIVE, alpha=alpha)
    assert found[[0, 3, 4, 7]] == pytest.approx([common, rare, rare, -1.290994], abs=1e-6)
    assert found[:5].sum() == pytest.approx(3.872983, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "common", "rare"),
    [
        ({"least": 0, "most": 99}, 0.5625, 4.5),
        ({"match": False}, 0.5625, 3),
        ({}, 0.675, 3.6),  # rescaling passes the clip again
    ],
)
def test_d8_clip_and_match(settings, common, rare):
    found = worth(*NINE, alpha=1, **settings)
    plain = grpo(np.array(NINE[0], float), ddof=0, eps=0.0)
    assert (found / plain)[[0, 8, 11]] == pytest.approx([common, rare, 1])
    if not settings:
        assert found[[0, 8]] == pytest.approx([0.389711, 2.078461], abs=1e-6)


def test_d8_all_right_is_nothing_and_one_right_is_grpo():
    assert worth([1, 1, 1], "abc").tolist() == [0.0] * 3
    assert worth([1, 0, 0], "abc").tolist() == grpo([1, 0, 0], ddof=0, eps=0.0).tolist()


def test_one_answer_for_all_that_is_right_is_grpo():
    rewards = [1, 1, 0, 1, 0]
    assert worth(rewards, ["4", "4", "5", "4", "4"]) == pytest.approx(grpo(np.array(rewards, float), ddof=0, eps=0.0))


def test_clusters_lie_inside_groups_and_wrong_rows_do_not_belong_to_them():
    rewards, answers = FIVE[0] + NINE[0], FIVE[1] + NINE[1]
    order = np.random.default_rng(0).permutation(20)
    groups = np.repeat([3, -1], [8, 12])
    found = np.empty(20)
    found[order] = worth(np.array(rewards)[order], np.array(answers, object)[order], groups[order])
    assert found[:8] == pytest.approx(worth(*FIVE)) and found[8:] == pytest.approx(worth(*NINE))


def test_of_graded_rewards_only_those_above_the_mean_share():
    rewards = np.array([1.0, 1.0, 0.6, 0.0])
    found = worth(rewards, ["a", "b", "a", "a"], ddof=0)
    assert found == pytest.approx(grpo(rewards, ddof=0, eps=0.0))  # two rollouts above, in clusters of one
    rewards = np.array([1.0, 1.0, 1.0, 0.6, 0.6])
    found, plain = worth(rewards, ["a", "a", "b", "b", "c"], alpha=1.0), grpo(rewards, ddof=0, eps=0.0)
    assert found / plain == pytest.approx([0.75, 0.75, 1.5, 1, 1])


@pytest.mark.parametrize("seed", range(10))
def test_credit_moves_and_none_is_made(seed):
    rng = np.random.default_rng(seed)
    groups, rewards = rng.integers(0, 5, 60), rng.integers(0, 2, 60).astype(float)
    found = worth(rewards, rng.choice(list("abcd"), 60), groups)
    plain = grpo(rewards, groups, ddof=0, eps=0.0)
    assert np.bincount(groups, found) == pytest.approx(np.bincount(groups, plain), abs=1e-9)
    assert found[rewards == 0].tolist() == plain[rewards == 0].tolist()


def test_settings_columns_and_worlds():
    for wrong in ({"alpha": 1.5}, {"least": 1.5}, {"most": 0.5}, {"ddof": 2}, {"eps": -1.0}):
        with pytest.raises(ConfigError):
            Cue(**wrong)
    assert winnow.recipe("cue-grpo").needs == ("answers",)
    check_worlds(winnow.recipe("cue-grpo"))
