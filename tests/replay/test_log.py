import numpy as np
import pytest

from winnow.errors import DataError
from winnow.replay import Log


def test_rollouts_lie_by_step_and_prompt_whatever_their_order():
    steps = np.array([2, 1, 1, 2, 1, 1])
    prompts = np.array([7, 9, 7, 7, 7, 9])
    log = Log.of(prompts, [0.0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15], steps=steps)
    assert log.step.tolist() == [1, 1, 2] and log.prompt.tolist() == [0, 1, 0]
    assert log.size.tolist() == [2, 2, 2] and log.start.tolist() == [0, 2, 4]
    assert log.reward.tolist() == [2, 4, 1, 5, 0, 3] and log.tokens.tolist() == [12, 14, 11, 15, 10, 13]
    assert (log.visits, log.prompts, log.ends.tolist()) == (3, 2, [2, 3])


def test_unscorable_rollouts_have_no_verdict_and_columns_of_the_caller_stay():
    rewards = np.array([np.inf, 1.0, np.nan, 0.0])
    outcomes = np.array([1.0, np.nan, 1.0, 0.5])
    log = Log.of([0, 0, 0, 0], rewards, outcomes=outcomes)
    np.testing.assert_array_equal(log.reward, [np.nan, 1, np.nan, 0])
    np.testing.assert_array_equal(log.judged, [np.nan, 1, np.nan, 0.5])
    assert np.isinf(rewards[0]) and log.unit == ""


def test_without_outcomes_the_reward_is_what_is_judged_and_kept_once():
    log = Log.of([0, 0], [0.0, 1.0], [3, 4])
    assert log.judged is log.reward and log.unit == "tokens"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([], []), "no rollouts"),
        (([0, 0], [np.nan, np.nan]), "not one of the 2"),
        (([0, 0], [1.0]), "differ in length"),
    ],
)
def test_what_is_no_log_is_refused(columns, said):
    with pytest.raises(DataError, match=said):
        Log.of(*columns)
