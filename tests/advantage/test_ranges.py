"""Rewards that a rule cannot take are refused when they are told; the step goes on."""

import numpy as np
import pytest

import winnow
from winnow.advantage import Advantage
from winnow.advantage.ranges import check_range, checked_by
from winnow.errors import ConfigError

VECTORS = {"embeddings": np.eye(4)}
BROKEN = {"embeddings": np.array([[np.nan], [1.0], [1.0], [1.0]])}
OVERLONG = {"longest": 10, "base": "maxrl"}

CASES = [
    # recipe, settings, rewards refused, their columns, words, the same put right
    ("nsr", {}, [1, 0, 0, 1.5], {}, r"nsr needs rewards in \[0, 1\], found 1.5", [1, 0, 0, 1], {}),
    ("w-reinforce", {}, [1, 0, -1, 1], {}, r"w_reinforce needs rewards in \[0, 1\], found -1", [1, 0, 0, 1], {}),
    ("maxrl", {}, [1, 0, -0.5, 1], {}, "maxrl needs rewards >= 0, found -0.5", [1, 0, 0, 1], {}),
    ("gcpo", {}, [1, 0, -1, 1], VECTORS, "gcpo needs rewards >= 0, found -1", [1, 0, 0, 1], VECTORS),
    ("gcpo", {}, [1, 0, 0, 1], BROKEN, "finite embeddings, found nan", [1, 0, 0, 1], VECTORS),
    ("dapo-overlong", OVERLONG, [1, 0, 0, 1], {"tokens": [1, 10, 1, 1]}, "maxrl needs rewards >= 0, found -1",
     [1, 0, 0, 1], {"tokens": [10, 1, 1, 1]}),
    ("dapo-overlong", {"base": "grpo"}, [1, 0, 0, 1], {}, "needs longest", None, {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "wrong", "columns", "words", "right", "repaired"), CASES)
def test_a_refused_reward_leaves_the_step_as_it_was(name, settings, wrong, columns, words, right, repaired):
    recipe = winnow.recipe(name, n=4, **settings)
    step = recipe.begin(1, seed=1)
    owners = [0] * step.ask().total
    with pytest.raises(ConfigError, match=words):
        step.tell(owners, wrong, **columns)
    assert step.in_flight == 4 and not step.seen.told.any()
    if right is None:
        return
    untouched = recipe.begin(1, seed=1)
    untouched.ask()
    for each in (step, untouched):
        each.tell(owners, right, **repaired)
    found, wanted = step.finish(), untouched.finish()
    assert found.fates == wanted.fates and found.advantages.tolist() == wanted.advantages.tolist()


def test_rollouts_without_a_reward_are_no_reason_to_refuse():
    step = winnow.recipe("maxrl", n=4).begin(1)
    step.tell([0] * step.ask().total, [1, 0, None, -np.inf])
    assert step.finish().ledger.unscorable == 2


def test_a_rule_of_the_users_own_can_refuse():
    @checked_by(lambda rewards: check_range(rewards, "mine", most=2.0))
    def mine(rewards, groups):
        return np.asarray(rewards)

    step = winnow.recipe("grpo", n=2, advantage=Advantage(mine)).begin(1)
    step.ask()
    with pytest.raises(ConfigError, match=r"advantage mine needs rewards in \[0, 2\], found 3"):
        step.tell([0, 0], [3.0, 0.0])
