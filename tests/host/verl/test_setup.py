"""What is read from a config, and everything that is refused; on plain dicts, so without verl."""

import copy
import pickle
import re

import pytest

import winnow
from winnow.allocation import Uniform
from winnow.budget import Budget
from winnow.errors import ConfigError
from winnow.host.verl.settings import value
from winnow.host.verl.setup import Setup
from winnow.recipe import Recipe

MINE = winnow.recipe("pods", n=6, m=3)
NOT_A_RECIPE = 3


class Remembers(Uniform):
    """A rule with state."""

    def state_dict(self):
        return {"calls": 1}

    def load_state_dict(self, state):
        pass


STATEFUL = Recipe("stateful", allocation=Remembers(4))


def config(changes=None, **section):
    """A config that passes for GRPO with n = 8, with dotted paths changed."""
    found = {
        "winnow": {"recipe": "grpo", **section},
        "data": {"train_batch_size": 16},
        "algorithm": {"adv_estimator": "winnow", "use_kl_in_reward": False, "norm_adv_by_std_in_grpo": True,
                      "filter_groups": {"enable": False}},
        "critic": {"enable": None},
        "reward": {"reward_model": {"enable": False, "enable_resource_pool": False}},
        "trainer": {
            "use_v1": True, "save_freq": -1,
            "v1": {"trainer_mode": "sync", "sync": {}, "sampler": {"sync_refill_failed_groups": False,
                   "custom_sampler": {"path": "pkg://winnow.host.verl.replay", "name": "WinnowReplayBuffer"}}},
        },
        "actor_rollout_ref": {
            "rollout": {"n": 8, "response_length": 100, "agent": {
                "agent_loop_manager_class": "winnow.host.verl.manager.WinnowAgentLoopManager"}},
            "actor": {"ppo_mini_batch_size": 8, "loss_agg_mode": "token-mean", "use_kl_loss": False,
                      "clip_ratio_low": 0.2,
                      "clip_ratio_high": 0.2, "clip_ratio_c": 3.0, "loss_scale_factor": None, "entropy_coeff": 0},
        },
        "skip": {"rollout_tq": {"enable": False}},
    }  # fmt: skip
    found = copy.deepcopy(found)
    for path, wanted in (changes or {}).items():
        *parents, last = path.split(".")
        place = found
        for name in parents:
            place = place[name]
        place[last] = wanted
    return found


N = "actor_rollout_ref.rollout.n"
ACTOR = "actor_rollout_ref.actor"


def test_a_recipe_by_name_with_settings_and_a_budget():
    setup = Setup.read(
        config({N: 4}, recipe="vigor+pods", settings={"m": 4, "rounds": 3, "initial": 4}, rollouts=200, seed=3)
    )
    assert setup.recipe == winnow.recipe("vigor+pods", m=4, rounds=3, initial=4)
    assert setup.budget == Budget(rollouts=200)
    assert (setup.prompts, setup.seed, setup.outcome, setup.pool) == (16, 3, None, 16)
    assert pickle.loads(pickle.dumps(setup)) == setup


def test_a_token_budget_reserves_the_longest_response():
    assert Setup.read(config(tokens=5000)).budget == Budget(tokens=5000, longest=100)


def test_a_recipe_of_the_users_own_by_its_place():
    setup = Setup.read(config({N: 2}, recipe=f"{__name__}:MINE", settings={"m": 2}))
    assert setup.recipe == winnow.recipe("pods", n=6, m=2)


def test_spares_make_the_step_larger():
    found = config({f"{ACTOR}.clip_ratio_high": 0.28}, recipe="dapo")
    assert Setup.read(found).pool == 48


@pytest.mark.parametrize(
    "changes, section, words",
    [
        ({}, {"recipe": "grop"}, "did you mean 'grpo'"),
        ({}, {"recipe": None}, "give the name of a recipe"),
        ({}, {"recipe": f"{__name__}:GONE"}, "cannot be imported"),
        ({}, {"recipe": f"{__name__}:NOT_A_RECIPE"}, "has to be a winnow.Recipe"),
        ({}, {"sede": 1}, "unknown setting of winnow 'sede', did you mean 'seed'"),
        ({}, {"settings": {"mm": 1}}, "unknown setting of recipe"),
        ({}, {"seed": -1}, "winnow.seed=-1: set it to a whole number >= 0"),
        ({}, {"seed": "zero"}, "whole number"),
        ({}, {"rollouts": 10, "tokens": 10}, "found both"),
        ({}, {"tokens": 50}, "not even one rollout of 100 tokens fits"),
        ({"trainer.use_v1": False}, {}, "trainer.use_v1=False.*set trainer.use_v1=True"),
        ({"trainer.v1.trainer_mode": "separate_async"}, {}, "there is no step to share a budget over"),
        ({"algorithm.adv_estimator": "grpo"}, {}, "set algorithm.adv_estimator=winnow"),
        ({"trainer.v1.sampler.custom_sampler.path": None}, {}, r"custom_sampler.path=pkg://winnow.host.verl.replay"),
        ({"actor_rollout_ref.rollout.agent": {}}, {}, "agent_loop_manager_class=winnow"),
        ({"critic.enable": True}, {}, "a critic has no part"),
        ({"algorithm.use_kl_in_reward": True}, {}, "use_kl_loss=True for a divergence"),
        ({"algorithm.filter_groups.enable": True}, {}, "winnow.recipe=dapo"),
        ({"trainer.v1.sampler.sync_refill_failed_groups": True}, {}, "failed rollouts are charged"),
        ({"skip.rollout_tq.enable": True}, {}, "not asked for by the recipe"),
        ({"trainer.v1.sync": {"parameter_sync_step": 2}}, {}, "set it to 1"),
        ({"reward.reward_model.enable": True}, {}, "too late for a recipe"),
        ({"algorithm.norm_adv_by_std_in_grpo": False}, {}, "winnow.recipe=dr-grpo"),
        ({f"{ACTOR}.use_kl_loss": True}, {"settings": {"weight": "prompt"}}, "cannot be multiplied"),
        ({}, {"recipe": "dr-grpo"}, "loss_agg_mode=seq-mean-token-sum-norm, found 'token-mean'"),
        ({f"{ACTOR}.loss_agg_mode": "seq-mean-token-sum-norm"}, {"recipe": "dr-grpo"}, "loss_scale_factor="),
        ({}, {"recipe": "dapo"}, "clip_ratio_high=0.28, found 0.2"),
        ({}, {"settings": {"kl_beta": 0.1}}, "use_kl_loss=True, found False"),
        ({N: 4}, {}, r"trains all n=8 .* Set actor_rollout_ref.rollout.n=8, or \+winnow.settings.n=4"),
        ({N: 32}, {"recipe": "pods"}, r"trains m=8 of n=32 .* Set actor_rollout_ref.rollout.n=8, or \+winnow.*m=32"),
        ({N: 4, "trainer.save_freq": 10}, {"recipe": f"{__name__}:STATEFUL"}, "checkpoint_callback_class="),
    ],
)  # fmt: skip
def test_what_contradicts_the_recipe_is_refused(changes, section, words):
    with pytest.raises(ConfigError, match=words):
        Setup.read(config(changes, **section))


SIZES = ("data.train_batch_size", "actor_rollout_ref.rollout.response_length", N, f"{ACTOR}.ppo_mini_batch_size")


@pytest.mark.parametrize("wrong", [0, -1, 1.5, 8.0, True, "8", None])
@pytest.mark.parametrize("path", SIZES)
def test_a_size_that_is_no_whole_number_is_refused(path, wrong):
    with pytest.raises(ConfigError, match=re.escape(f"{path}={wrong!r}: set it to a whole number >= 1")):
        Setup.read(config({path: wrong}))


def test_no_section_is_refused():
    found = config()
    del found["winnow"]
    with pytest.raises(ConfigError, match=r"add \+winnow.recipe="):
        Setup.read(found)


def test_a_reward_model_with_gpus_of_its_own_is_welcome():
    Setup.read(config({"reward.reward_model": {"enable": True, "enable_resource_pool": True}}))


def test_state_needs_the_callback_only_where_checkpoints_are_written():
    section = {"recipe": f"{__name__}:STATEFUL"}
    Setup.read(config({N: 4}, **section))
    Setup.read(config({N: 4, "trainer.save_freq": 1, "trainer.checkpoint_callback_class": "x.Y"}, **section))


def test_dotted_paths():
    assert value({"a": {"b": None}}, "a.b", 3) == 3
    assert value({"a": {"b": 0}}, "a.b", 3) == 0
    assert value({"a": None}, "a.b.c") is None
