"""What an independent check of the core found: misuse that slipped through, and numbers at the edge of their range."""

import numpy as np
import pytest

import winnow
from winnow import Budget
from winnow.advantage import grpo
from winnow.errors import ConfigError
from winnow.selection import Select, max_variance


def test_a_step_finished_early_says_so():
    step = winnow.recipe("grpo").begin(4)
    step.ask(3)
    step.tell([0, 0, 0], [1, 0, 1])
    assert step.finish().reason == "finish() was called with 29 rollouts left to ask for"
    step = winnow.recipe("vigor").begin(4, budget=Budget(tokens=1000, longest=10))
    for prompt, count in step.ask():
        step.tell([prompt] * count, [0, 1] * (count // 2), tokens=[5] * count)
    assert "tokens left to ask for" in step.finish().reason


def test_tokens_have_to_be_whole_and_not_negative():
    step = winnow.recipe("grpo").begin(2, budget=Budget(tokens=50, longest=10))
    step.ask()
    with pytest.raises(ValueError, match="0 to"):
        step.tell([0], [1.0], tokens=[-1000])
    with pytest.raises(ValueError, match=r"tokens must be whole numbers, found float64 such as"):
        step.tell([0], [1.0], tokens=[2.9])
    with pytest.raises(ValueError, match="prompts must be whole numbers"):
        step.tell([0.7], [1.0], tokens=[2])
    with pytest.raises(ValueError, match="prompts must be whole numbers"):
        step.tell(["0"], [1.0], tokens=[2])


@pytest.mark.parametrize("barrier", [True, False])
def test_empty_rollouts_do_not_make_a_token_budget_endless(barrier):
    step = winnow.recipe("vigor", barrier=barrier).begin(3, budget=Budget(tokens=60, longest=5))
    asks = 0
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [None] * count, tokens=[0] * count)
        asks += 1
        assert asks < 100
    assert step.finish().ledger.rollouts == 60


@pytest.mark.parametrize("limit", [2.5, float("nan"), "3", True])
def test_a_limit_is_a_whole_number(limit):
    with pytest.raises(ConfigError, match="whole number"):
        winnow.recipe("grpo").begin(3).ask(limit)


@pytest.mark.parametrize("value", ["abc", float("nan"), float("inf"), [8], 8.0, True, 0, 10**30])
def test_a_budget_is_a_whole_number(value):
    with pytest.raises(ConfigError, match="whole number"):
        Budget(rollouts=value)
    with pytest.raises(ConfigError, match=r"winnow\.Budget"):
        winnow.recipe("grpo").begin(2, budget=8)


def test_outcomes_are_checked_for_length_and_fall_back_to_the_reward():
    step = winnow.recipe("grpo", n=3, gate="zero_signal").begin(1)
    step.ask()
    with pytest.raises(ValueError, match="3 rewards, 1 outcomes"):
        step.tell([0, 0, 0], [1, 0, 1], outcomes=[1.0])
    step.tell([0, 0, 0], [1, 0, 1], outcomes=[None, None, None])
    assert step.finish().fates == ("trained",) * 3


def test_a_finished_step_stays_finished():
    step = winnow.recipe("grpo", n=4, selection="random", m=2).begin(1)
    step.ask()
    step.tell([0] * 4, [0, 1, 0, 1])
    assert step.finish() is step.finish()
    with pytest.raises(ConfigError, match="finished"):
        step.tell([0], [1.0])


def test_rewards_beyond_the_range_of_squares():
    step = winnow.recipe("vigor").begin(2)
    step.ask()
    with pytest.raises(ValueError, match="1e\\+200"):
        step.tell([0, 0, 1, 1], [0, 1e200, 0, 1])
    assert 0 in max_variance([1e155, 0, 1, 2], 2).rows
    assert max_variance([3e155, -1e155, 1, 2], 2).rows.tolist() == [0, 1]
    assert max_variance([0, 1e-200, 2e-200, 3e-200], 2).rows.tolist() == [0, 3]
    assert grpo([1e160, 0, 0, 0], eps=0) == pytest.approx([1.5, -0.5, -0.5, -0.5])
    assert grpo([1e-200, 0], eps=0) == pytest.approx([0.707107, -0.707107], abs=1e-6)


def test_settings_that_only_failed_after_the_rollouts_were_paid():
    for wrong in ({"ddof": 2}, {"eps": -1.0}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            winnow.recipe("grpo", **wrong)
    with pytest.raises(ConfigError, match="m=1"):
        winnow.recipe("pods", m=np.int64(1))
    assert isinstance(Select("max_variance", np.int64(3)).m, int)


def test_masked_rewards_are_unscorable():
    masked = np.ma.masked_array([9.0, 0, 1], [True, False, False])
    assert max_variance(masked, 2).rows.tolist() == [1, 2]
    step = winnow.recipe("grpo", n=3).begin(1)
    step.ask()
    step.tell([0, 0, 0], masked)
    assert step.finish().fates == ("unscorable", "trained", "trained")


def test_one_straggler_does_not_hold_a_level_back():
    step = winnow.recipe("vigor", barrier=False).begin(64, budget=Budget(rollouts=512))
    lost: list[int] = []
    told = 0
    while requests := step.ask():
        for prompt, count in requests:
            answered = count
            if prompt == 63 and not lost:
                lost, answered = [63], count - 1
            step.tell([prompt] * answered, ([0.0, 1.0] * count)[:answered])
            told += answered
    assert told == 511
    step.tell(lost, [1.0])
    assert step.done


def test_misuse_of_begin_and_tell_is_named():
    recipe = winnow.recipe("grpo", n=2)
    for prompts in ("4", 2.5, True, None):
        with pytest.raises(ConfigError, match="prompts="):
            recipe.begin(prompts)
    for seed in ("a", 1.5, -1):
        with pytest.raises(ConfigError, match="seed="):
            recipe.begin(1, seed=seed)
    step = recipe.begin(1)
    step.ask()
    with pytest.raises(ValueError, match="rewards must be numbers or None, found '1'"):
        step.tell([0], ["1"])
    with pytest.raises(ConfigError, match="eps="):
        winnow.recipe("grpo", eps="a")
    with pytest.raises(ConfigError, match="selection="):
        winnow.recipe("grpo", selection=object())
