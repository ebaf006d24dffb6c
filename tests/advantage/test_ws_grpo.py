import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage import grpo
from winnow.advantage.ws_grpo import WsGrpo
from winnow.errors import ConfigError


def test_outcome_plus_five_times_the_preference():
    rewards, scores = np.array([1.0, 0, 0, 1]), np.array([0.2, 0.1, -0.1, 0.0])
    assert WsGrpo()(rewards, [0] * 4, scores=scores) == pytest.approx(grpo(rewards + 5 * scores))
    assert WsGrpo(step_weight=0.0)(rewards, [0] * 4, scores=scores).tolist() == grpo(rewards).tolist()


def test_an_all_right_group_has_signal_in_its_steps():
    found = WsGrpo(ddof=0, eps=0.0)([1.0, 1.0], [0, 0], scores=[0.5, 0.1])
    assert found == pytest.approx([1, -1])


def test_rows_without_a_score_are_in_no_statistic():
    found = WsGrpo()([1.0, 0.0, 1.0, np.nan], [0] * 4, scores=[0.0, 0.0, np.nan, 0.0])
    assert found == pytest.approx([*grpo([1.0, 0.0]), 0, 0])
    odd = WsGrpo(step_weight=0.0)([1.0, 0.0, 1.0, np.inf], [0] * 4, scores=[0.0, 0.0, np.inf, -np.inf])
    assert odd.tolist() == found.tolist()


def test_settings_columns_and_worlds():
    for wrong in ({"outcome_weight": -1.0}, {"step_weight": np.inf}, {"ddof": 2}):
        with pytest.raises(ConfigError):
            WsGrpo(**wrong)
    assert winnow.recipe("ws-grpo").needs == ("scores",)
    check_worlds(winnow.recipe("ws-grpo"), tied=True)


def test_a_reward_that_judges_no_steps_is_named():
    with pytest.raises(ConfigError, match="none of the 2 rollouts has one"):
        WsGrpo()([1.0, 0.0, np.nan], [0] * 3, scores=[np.nan, np.nan, 0.5])
