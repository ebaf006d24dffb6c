import numpy as np
import pytest

import winnow
from winnow.advantage import Nsr

CASES = [  # D6
    ([1, 0, 0, 1], [0, -1, -1, 0], [0.1, -1, -1, 0.1]),
    ([0, 0], [-1, -1], [-1, -1]),
    ([1, 1, 1], [0, 0, 0], [0.1, 0.1, 0.1]),
    ([1], [0], [0.1]),
]


@pytest.mark.parametrize(("rewards", "nsr", "weighted"), CASES)
def test_d6(rewards, nsr, weighted):
    groups = np.zeros(len(rewards), int)
    assert Nsr()(rewards, groups) == pytest.approx(nsr)
    assert Nsr(0.1)(rewards, groups) == pytest.approx(weighted)


def test_unscorable_rows_get_nothing_and_shaped_rewards_are_refused():
    assert Nsr()([np.nan, 0.0], [0, 0]).tolist() == [0.0, -1.0]
    with pytest.raises(ValueError, match=r"in \[0, 1\], found 1.5"):
        Nsr()([1.5, 0.0], [0, 0])


def test_a_group_that_is_all_wrong_trains():
    step = winnow.recipe("nsr", n=4).begin(1)
    step.tell([0] * step.ask().total, [0.0] * 4)
    batch = step.finish()
    assert batch.fates == ("trained",) * 4
    assert winnow.recipe("w-reinforce").describe()["advantage"] == {"advantage": "nsr", "positive": 0.1}
