import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage.raft import raft, reinforce_rej

CASES = [  # 18.8 (J1)
    ([1, 0, 0, 1], [1, 0, 0, 1]),
    ([1, 1, 1, 1], [0, 0, 0, 0]),
    ([-1, -1, -1, -1], [0, 0, 0, 0]),
    ([1, -1, -1, -1], [1, -1, -1, -1]),
    ([1], [0]),
]


@pytest.mark.parametrize(("rewards", "wanted"), CASES)
def test_j1_raw_rewards_of_groups_with_signal(rewards, wanted):
    assert reinforce_rej(rewards).tolist() == wanted
    assert raft(rewards).tolist() == [max(reward, 0) for reward in rewards]


def test_unscorable_rows():
    assert reinforce_rej([np.nan, 1.0, 0.0, np.inf], [0, 0, 0, 0]).tolist() == [0, 1, 0, 0]
    assert reinforce_rej([np.nan, 1.0], [0, 0]).tolist() == [0, 0]
    assert raft([np.nan, 1.0, np.inf], [0, 0, 0]).tolist() == [0, 1, 0]


def test_an_all_wrong_step_trains_nothing_and_an_all_right_one_everything():
    for reward, fate in ((0.0, "no signal"), (1.0, "trained")):
        step = winnow.recipe("raft").begin(2)
        step.tell(np.repeat(*zip(*step.ask(), strict=True)), [reward] * 16)
        assert set(step.finish().fates) == {fate}
    check_worlds(winnow.recipe("raft"), tied=True)
    check_worlds(winnow.recipe("reinforce-rej"))
