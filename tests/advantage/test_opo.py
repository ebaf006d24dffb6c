import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage import centred
from winnow.advantage.opo import opo


def test_the_baseline_is_weighted_by_length():
    found = opo([1, 0, 0, 1], lengths=[2, 4, 4, 2])  # baseline 4/12
    assert found == pytest.approx([2 / 3, -1 / 3, -1 / 3, 2 / 3])


@pytest.mark.parametrize("seed", range(10))
def test_against_the_formula_on_ragged_shuffled_groups(seed):
    rng = np.random.default_rng(seed)
    groups, rewards, lengths = rng.integers(-3, 4, 40), rng.integers(0, 4, 40) / 3, rng.integers(1, 50, 40)
    rewards[rng.random(40) < 0.1] = np.nan
    found = opo(rewards, groups, lengths=lengths)
    for label in np.unique(groups):
        rows = np.flatnonzero((groups == label) & np.isfinite(rewards))
        value = rewards[rows] - (rewards[rows] @ lengths[rows]) / max(lengths[rows].sum(), 1)
        varied = len(rows) > 0 and np.ptp(rewards[rows]) > 0
        assert found[rows] == pytest.approx(value if varied else np.zeros(len(rows)), abs=1e-12)
        assert abs(found[rows] @ lengths[rows]) < 1e-9


def test_equal_or_no_lengths_are_dr_grpo():
    rewards = np.array([0.3, 1, 0])
    assert opo(rewards, lengths=[5, 5, 5]) == pytest.approx(centred(rewards))
    assert opo(rewards, lengths=[0, 0, 0]) == pytest.approx(centred(rewards))
    check_worlds(winnow.recipe("opo"))
