import numpy as np
import pytest

import winnow
from winnow.advantage import grpo
from winnow.errors import ConfigError
from winnow.selection import Cppo

Q1, Q2 = [1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]


def kept(rewards, groups=None, **settings):
    groups = np.zeros(len(rewards), int) if groups is None else np.asarray(groups)
    values = np.asarray(rewards, float)
    rule = Cppo(**settings)
    return rule(values, groups, np.random.default_rng(0), advantages=grpo(values, groups)).rows.tolist()


@pytest.mark.parametrize(("pruning", "rows"), [(0.5, [0, 1, 4, 5]), (0.75, [0, 1]), (0.875, [0])])
def test_c1_largest_advantages_of_a_graded_group(pruning, rows):
    assert kept([2, 2, 1, 1, 0, 0, 0, 1], pruning=pruning, ties="index") == rows


def test_c2_ties_by_index_keep_one_side_and_ties_by_sign_both():
    assert kept(Q1, ties="index") == [0, 1, 2, 3]
    assert kept(Q2, ties="index") == [0, 1, 2, 3]
    assert kept(Q2, ties="sign") == [0, 1, 4, 5]


def test_c2_ranking_the_whole_batch_can_empty_a_group():
    rows = kept(Q1 + Q2, [0] * 8 + [1] * 8, scope="batch", ties="index")
    assert rows == [0, *range(8, 15)]


def test_c4_shares_survive_floating_point():
    assert len(kept([0, 1] * 5, pruning=0.9)) == 1
    assert len(kept([0, 1, 0, 1, 0], pruning=0.8)) == 1


def test_c5_advantages_of_the_kept_rows_are_those_of_the_whole_group():
    step = winnow.recipe("cppo", n=8, ties="index").begin(1)
    ((prompt, count),) = step.ask()
    step.tell([prompt] * count, Q1)
    batch = step.finish()
    assert batch.rows.tolist() == [0, 1, 2, 3]
    assert batch.advantages.mean() == pytest.approx(0.35345, abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_against_a_plain_sort_on_ragged_shuffled_groups(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(-3, 4, 60)
    rewards = rng.integers(0, 5, 60) / 4
    advantages = grpo(rewards, groups)
    rule = Cppo(0.4, ties="index")
    found = rule(rewards, groups, rng, advantages=advantages).rows.tolist()
    wanted = []
    for label in np.unique(groups):
        rows = np.flatnonzero(groups == label)
        best = sorted(rows, key=lambda row: (-round(abs(advantages[row]), 12), row))
        wanted += best[: max(1, int(len(rows) * 0.6 + 1e-9))]
    assert found == sorted(wanted)


def test_settings_out_of_range_are_refused():
    for wrong in ({"pruning": 1.0}, {"scope": "device"}, {"ties": "random"}):
        with pytest.raises(ConfigError):
            Cppo(**wrong)
