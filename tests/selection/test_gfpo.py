import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.errors import ConfigError
from winnow.selection.gfpo import Gfpo


def kept(rewards, lengths, groups=None, **settings):
    groups = np.zeros(len(rewards), int) if groups is None else groups
    return Gfpo(**settings)(rewards, groups, np.random.default_rng(0), lengths=np.asarray(lengths)).rows.tolist()


def test_18_8_the_two_shortest_and_their_own_statistics():
    assert kept([1, 0, 1, 1], [100, 50, 80, 20], m=2) == [1, 3]
    step = winnow.recipe("gfpo", n=4, m=2, ddof=0, eps=0.0).begin(1)
    step.tell([0] * step.ask().total, [1.0, 0.0, 1.0, 1.0], tokens=[100, 50, 80, 20])
    batch = step.finish()
    assert batch.rows.tolist() == [1, 3] and batch.advantages.tolist() == [-1.0, 1.0]


def test_reward_per_token():
    assert kept([1, 0, 1, 1], [100, 50, 80, 20], m=2, rank="efficiency") == [2, 3]
    assert kept([1, 1, 0], [0, 1, 5], m=2, rank="efficiency") == [0, 1]


@pytest.mark.parametrize("rank", ["length", "efficiency"])
@pytest.mark.parametrize("seed", range(10))
def test_against_a_plain_sort_on_ragged_shuffled_groups(rank, seed):
    rng = np.random.default_rng(seed)
    groups, lengths, rewards = rng.integers(-3, 4, 50), rng.integers(1, 6, 50), rng.integers(0, 3, 50)
    score = rewards / lengths if rank == "efficiency" else -lengths
    wanted = []
    for label in np.unique(groups):
        wanted += sorted(np.flatnonzero(groups == label), key=lambda row: (-score[row], row))[:3]
    assert kept(rewards, lengths, groups, m=3, rank=rank) == sorted(wanted)


def test_settings_and_worlds():
    for wrong in ({"m": 0}, {"rank": "reward"}):
        with pytest.raises(ConfigError):
            Gfpo(**wrong)
    check_worlds(winnow.recipe("gfpo"))
    check_worlds(winnow.recipe("gfpo", rank="efficiency", m=0.5))
