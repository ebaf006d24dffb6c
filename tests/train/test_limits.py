from __future__ import annotations

import pytest

from winnow.errors import ConfigError
from winnow.train import TrainConfig
from winnow.train.limits import Limits
from winnow.train.state import Totals


def limits(**changes):
    settings = {"prompts_per_step": 4, "max_new_tokens": 10, **changes}
    return Limits.of(TrainConfig(**settings), n=8)


def test_a_full_step_is_prompts_times_n():
    allowance = limits().next(Totals())
    assert (allowance.prompts, allowance.budget.rollouts) == (4, 32)
    assert limits(rollouts_per_step=20).next(Totals()).budget.rollouts == 20


def test_the_first_limit_reached_ends_the_run():
    both = limits(steps=10, rollouts=100)
    assert both.reached(Totals(steps=9, rollouts=98)) is None
    assert both.reached(Totals(steps=10, rollouts=50)) == "limit steps"
    assert both.reached(Totals(steps=3, rollouts=100)) == "limit rollouts"
    assert both.reached(Totals(steps=3, rollouts=99)) == "limit rollouts"  # one rollout is no group
    assert both.fraction(Totals(steps=5, rollouts=80)) == 0.8


def test_the_last_step_is_cut_to_the_rollouts_left():
    allowance = limits(rollouts=100).next(Totals(rollouts=96))
    assert (allowance.prompts, allowance.budget.rollouts) == (1, 4)
    allowance = limits(rollouts=100).next(Totals(rollouts=84))
    assert (allowance.prompts, allowance.budget.rollouts) == (2, 16)


def test_near_a_limit_on_tokens_a_step_is_budgeted_in_tokens():
    near = limits(tokens=1000)
    assert near.next(Totals(tokens=600, rollouts=100)).budget.rollouts == 32
    allowance = near.next(Totals(tokens=700, rollouts=140))  # 300 left, 32 rollouts could take 320
    assert (allowance.budget.tokens, allowance.budget.longest) == (160, 10)  # what 32 rollouts usually take
    assert near.next(Totals(tokens=900, rollouts=180)).budget.tokens == 100
    assert near.reached(Totals(tokens=981)) == "limit tokens"


def test_steps_in_tokens_are_cut_to_the_tokens_left():
    run = limits(tokens=1000, budget_unit="tokens", tokens_per_step=200)
    assert run.next(Totals()).budget.tokens == 200
    allowance = run.next(Totals(tokens=900))
    assert (allowance.prompts, allowance.budget.tokens) == (2, 100)


def test_the_length_of_the_run_is_known_for_the_schedule():
    assert limits(steps=10).total_updates(2) == 20
    assert limits(rollouts=100, steps=50).total_updates(1) == 4
    with pytest.raises(ConfigError, match="lr_schedule"):
        limits(seconds=10).total_updates(1)
