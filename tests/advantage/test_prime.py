import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage import rloo
from winnow.advantage.prime import Prime
from winnow.errors import ConfigError


def test_d10_the_process_part_is_the_mean_of_the_token_advantages():
    tokens = [np.array([0.1, 0.2]), np.array([-0.1])]
    adjusted = [2 * row - sum(other.mean() for other in tokens) for row in tokens]  # n/(n-1) = 2, 1/(n-1) = 1
    assert np.concatenate(adjusted) == pytest.approx([0.15, 0.35, -0.25])
    scores = [row.mean() for row in tokens]
    found = Prime(whiten=False)([1.0, 1.0], [0, 0], scores=scores)
    assert found == pytest.approx([row.mean() for row in adjusted])


def test_outcome_and_process_add_up():
    rewards, groups, scores = np.array([1.0, 0, 0, 1, 1]), [0, 0, 0, 1, 1], np.array([0.1, 0.2, 0, 0.4, 0.4])
    plain = Prime(process_weight=2.0, whiten=False)(rewards, groups, scores=scores)
    assert plain == pytest.approx(rloo(rewards, groups) + 2 * rloo(scores, groups))
    white = Prime(process_weight=2.0)(rewards, groups, scores=scores)
    assert np.mean(white**2) == pytest.approx(1) and white / white[0] == pytest.approx(plain / plain[0])
    assert white[3:].tolist() == [0, 0]


def test_rows_without_a_score_are_in_no_statistic():
    found = Prime()([1.0, 0.0, 1.0, np.nan], [0] * 4, scores=[0.0, 0.0, np.nan, 0.0])
    assert found.tolist() == [1, -1, 0, 0]


def test_groups_of_middling_accuracy_train():
    step = winnow.recipe("prime", n=5).begin(4)
    step.ask()
    outcomes = np.array([0.0] * 5 + [1, 0, 0, 0, 0] + [1, 1, 1, 1, 0] + [1.0] * 5)
    step.tell(np.repeat(range(4), 5), outcomes, scores=np.tile([0.1, 0.2, 0.3, 0.4, 0.5], 4))
    assert set(step.finish().prompts) == {1, 2}


def test_settings_columns_and_worlds():
    with pytest.raises(ConfigError):
        Prime(process_weight=-1.0)
    assert winnow.recipe("prime").needs == ("scores",)
    check_worlds(winnow.recipe("prime", gate="none"), tied=True)


def test_a_reward_that_judges_no_steps_is_named():
    with pytest.raises(ConfigError, match="none of the 2 rollouts has one"):
        Prime()([1.0, 0.0], [0, 0], scores=[np.nan, np.nan])
