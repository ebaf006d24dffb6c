import math

import numpy as np
import pytest

from winnow.errors import ConfigError
from winnow.selection import Select
from winnow.selection.balanced import balanced


@pytest.mark.parametrize(
    ("rewards", "m", "rows"),
    [
        ([0, 1, 0, 1, 0, 0, 0, 0], 4, [0, 1, 2, 3]),
        ([0, 0, 0, 0, 0, 1, 0, 0], 4, [0, 1, 2, 5]),
        ([0] * 8, 4, [0, 1, 2, 3]),
        ([1] * 8, 4, [0, 1, 2, 3]),
        ([1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1], 4, [0, 1, 7, 13]),
        ([1, 1, 1, 1, 0], 4, [0, 1, 2, 4]),
        ([1, 1, 0, 0, 0], 3, [0, 2, 3]),  # odd: one more wrong
        ([1, 0], 4, [0, 1]),
        ([1, 1, 0, 0, 0, 0, 0, 0], 0.5, [0, 1, 2, 3]),
    ],
)
def test_first_come_split(rewards, m, rows):
    found = balanced(rewards, m)
    assert found.rows.tolist() == rows
    assert found.weights.tolist() == [1.0] * len(rows)


def plain(right, m):
    """The rule for one group, row by row as the paper's code goes about it."""
    yes, no = np.flatnonzero(right).tolist(), np.flatnonzero(~right).tolist()
    from_yes = min(m // 2, len(yes))
    from_no = min(m - from_yes, len(no))
    from_yes = min(m - from_no, len(yes))
    return yes[:from_yes] + no[:from_no]


@pytest.mark.parametrize("seed", range(20))
def test_ragged_shuffled_groups_with_unscorable_rows(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(-3, 4, 70) * 10
    rewards = np.where(rng.random(70) < 0.1, np.nan, rng.random(70))
    m = int(rng.integers(2, 9)) if seed % 2 else float(rng.uniform(0.2, 1))
    wanted = []
    for label in np.unique(groups):
        rows = np.flatnonzero((groups == label) & np.isfinite(rewards))
        count = min(m, len(rows)) if isinstance(m, int) else max(1, math.floor(m * len(rows) + 1e-9))
        wanted += rows[plain(rewards[rows] > 0.5, count)].tolist()
    assert balanced(rewards, m, groups).rows.tolist() == sorted(wanted)


def test_verdicts_say_what_is_right_where_rewards_are_shaped():
    rewards, outcomes = [0.9, 0.8, 0.7, 0.6], [0, 0, 1, 1]
    assert balanced(rewards, 2).rows.tolist() == [0, 1]
    assert balanced(rewards, 2, outcomes=outcomes).rows.tolist() == [0, 2]
    part = Select("balanced", 2)
    assert part.needs == ("outcomes",)
    found = part(rewards, [0] * 4, np.random.default_rng(0), outcomes=np.array(outcomes, float))
    assert found.rows.tolist() == [0, 2]


def test_a_seed_shuffles_which_rows_come_first():
    rewards = [1] * 20 + [0] * 20
    rows = {tuple(balanced(rewards, 4, seed=seed).rows.tolist()) for seed in range(5)}
    assert len(rows) == 5
    assert all(sum(row < 20 for row in kept) == 2 for kept in rows)


def test_nothing_to_choose_from():
    assert balanced([], 4).rows.tolist() == []
    assert balanced([None, None], 4).rows.tolist() == []


def test_wrong_arguments():
    with pytest.raises(ConfigError):
        balanced([1, 0], 0)
    with pytest.raises(ValueError, match="must be equal"):
        balanced([1, 0], 2, outcomes=[1])
