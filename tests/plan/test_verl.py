"""What is printed for verl keeps its rules and, where verl is installed, passes its own composition and checks."""

import math
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import winnow
from tests.plan.recipes import reason, settings, trained
from winnow.budget import Budget
from winnow.errors import ConfigError
from winnow.host.verl.setup import Setup
from winnow.plan import overrides, recipe_step, verl_plan, verl_text
from winnow.registry import names

ACTOR, ROLLOUT = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."
RUN = [name for name in names() if not reason(winnow.recipe(name, **settings(name)))]
RECIPES = {name: settings(name) for name in RUN} | {
    "pods ": {"n": 64, "m": 6, "signal": "reward"},
    "vigor ": {"n": 12},
    "vigor+pods ": {"m": 0.5},
    "grpo ": {"kl_beta": 0.01, "aggregation": "sequence", "clip_high": math.inf},
}
"""Overrides by recipe; a space tells a second entry of one recipe apart."""
cases = pytest.mark.parametrize(("case", "gpus"), [(case, gpus) for case in RECIPES for gpus in (1, 2, 8)])


def made(case, gpus, **shape):
    changes = RECIPES[case]
    recipe = winnow.recipe(case.strip(), **changes)
    return recipe, verl_plan(recipe, recipe_step(recipe, 6), gpus=gpus, overrides=changes, **shape)


def nested(plan):
    """Put the settings of a plan where verl would have them."""
    config = {"trainer": {"save_freq": 10}}
    for path, value in (plan.settings | plan.recipe | {f"{ROLLOUT}response_length": 64}).items():
        *outer, name = path.lstrip("+").split(".")
        section = config
        for part in outer:
            section = section.setdefault(part, {})
        section[name] = value
    return config


@cases
def test_the_rules_of_verl_hold(case, gpus):
    recipe, plan = made(case, gpus, minibatches=2, micro_batch=3)
    found = plan.settings
    n, prompts = found[f"{ROLLOUT}n"], found["data.train_batch_size"]
    mini, micro = found[f"{ACTOR}ppo_mini_batch_size"], found[f"{ACTOR}ppo_micro_batch_size_per_gpu"]
    assert n == trained(recipe) and 6 <= prompts < 6 + 2 * gpus
    assert found["trainer.nnodes"] * found["trainer.n_gpus_per_node"] == gpus
    assert prompts * n % gpus == 0  # of the batch, at the start
    assert prompts == 2 * mini  # two optimiser steps
    assert mini * n % gpus == 0  # of a mini-batch, in the worker
    assert prompts * n % math.lcm(gpus, mini * n) == 0  # else padding
    assert mini * n // gpus % micro == 0 and micro <= 3
    assert found[f"{ROLLOUT}log_prob_micro_batch_size_per_gpu"] == micro


def test_nodes_of_eight_gpus():
    found = made("grpo", 16)[1].settings
    assert (found["trainer.nnodes"], found["trainer.n_gpus_per_node"]) == (2, 8)


def test_winnow_is_switched_on_with_recipe_budget_and_seed():
    switches = made("pods ", 1, budget=Budget(tokens=9000), asked={"seed": 4})[1].recipe
    own = {key: value for key, value in switches.items() if key.startswith("+winnow")}
    assert own == {
        "+winnow.recipe": "pods", "+winnow.settings.n": 64, "+winnow.settings.m": 6,
        "+winnow.settings.signal": "reward", "+winnow.tokens": 9000, "+winnow.seed": 4,
    }  # fmt: skip
    assert switches["algorithm.adv_estimator"] == "winnow"


def test_the_text_is_one_command():
    plan = made("dr-grpo", 2)[1]
    lines = verl_text(plan).splitlines()
    command = "\n".join(line for line in lines if not line.startswith("#"))
    echoed = command.replace("python3", "printf '%s\\n'", 1)
    told = subprocess.run(["sh", "-c", echoed], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["-m", "verl.trainer.main_ppo", *overrides(plan)]
    assert "\n#" not in command and lines[-1][-1] != "\\"
    assert "'actor_rollout_ref.actor.loss_scale_factor=${data.max_response_length}'" in command


def test_what_verl_has_no_setting_for_is_told():
    asked = {"lora_rank": 8, "passes": 1.5, "lr": 1e-6}
    _, plan = made("grpo", 1, asked=asked)
    assert "not carried over: lora_rank, passes" in plan.limits
    assert plan.settings[f"{ACTOR}optim.lr"] == 1e-6
    assert made("grpo", 1, asked={"passes": 2.0})[1].settings["trainer.total_epochs"] == 2
    spares = "spare prompts (3 for each): those opened and not used are dropped"
    assert spares in " ".join(made("greso", 1)[1].limits) and "spare" not in " ".join(made("grpo", 1)[1].limits)
    told = " ".join(made("grpo ", 2)[1].limits)
    assert "seq-mean-token-mean divides the divergence by 48 rows" in told and "clamps the log-ratio at 20" in told


@cases
def test_the_plugin_refuses_none_of_it(case, gpus):
    recipe, plan = made(case, gpus, budget=Budget(rollouts=96), asked={"seed": 4})
    setup = Setup.read(nested(plan))
    assert setup.recipe.describe() == recipe.describe() and (setup.budget, setup.seed) == (Budget(rollouts=96), 4)


def refused_by_plan_and_plugin(name):
    recipe = winnow.recipe(name)
    with pytest.raises(ConfigError, match=reason(recipe)) as planned:
        verl_plan(recipe, recipe_step(recipe, 6))
    config = nested(made("grpo", 1)[1])
    # Else the plugin asks first for the callback that saves what a recipe remembers.
    config["trainer"]["save_freq"] = -1
    config["winnow"]["recipe"] = name
    with pytest.raises(ConfigError) as found:
        Setup.read(config)
    assert str(found.value) == str(planned.value)


def test_what_verl_cannot_run_is_refused_by_plan_and_plugin_alike():
    refused = [name for name in names() if reason(winnow.recipe(name)) not in (None, "needs longest")]
    assert {"branch", "repo", "gmpo", "flowrl", "prof"} <= set(refused)
    for name in refused:
        refused_by_plan_and_plugin(name)


@pytest.mark.xfail(reason="the plugin notices a missing length once advantages are computed", strict=False)
def test_a_length_that_has_to_be_given_is_asked_for_by_plan_and_plugin_alike():
    refused_by_plan_and_plugin("dapo-overlong")


def test_plan_and_plugin_refuse_weights_alike():
    kept = {"weight": "prompt"}
    recipe = winnow.recipe("vigor", kl_beta=0.1, **kept)
    with pytest.raises(ConfigError) as planned:
        verl_plan(recipe, recipe_step(recipe, 6))
    accepted = winnow.recipe("vigor", kl_beta=0.1)
    config = nested(verl_plan(accepted, recipe_step(accepted, 6), overrides={"kl_beta": 0.1}))
    config["winnow"]["settings"] |= kept
    with pytest.raises(ConfigError) as refused:
        Setup.read(config)
    assert str(planned.value) == str(refused.value)


@pytest.fixture(scope="module")
def compose():
    """Compose verl's own configuration with the overrides of a plan."""
    verl = pytest.importorskip("verl")
    import hydra

    folder = Path(verl.__file__).parent / "trainer" / "config"
    with hydra.initialize_config_dir(config_dir=str(folder), version_base=None):
        yield lambda plan: hydra.compose("ppo_trainer", overrides=overrides(plan))


@cases
def test_verl_takes_them(compose, case, gpus):
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.trainer.ppo.v1.trainer_base import PPOTrainer
    from verl.utils.config import validate_config

    asked = {"lr": 1e-6, "lr_schedule": "cosine", "warmup_steps": 3, "betas": (0.9, 0.95), "weight_decay": 0.1,
             "max_grad_norm": 0.5, "temperature": 0.9, "max_new_tokens": 300, "max_prompt_tokens": 200,
             "steps": 20, "seed": 4}  # fmt: skip
    recipe, plan = made(case, gpus, minibatches=2, budget=Budget(rollouts=96), asked=asked)
    found = compose(plan)
    validate_config(found, use_reference_policy=need_reference_policy(found), use_critic=need_critic(found))
    assert not need_critic(found) and need_reference_policy(found) == (recipe.objective.kl_beta > 0)
    rows = found.data.train_batch_size * found.actor_rollout_ref.rollout.n
    host = SimpleNamespace(config=found, use_critic=False, global_steps=1)
    assert rows % PPOTrainer._get_required_batch_multiple(host, gpus) == 0  # nothing is padded
    setup = Setup.read(found)
    assert setup.recipe.describe() == recipe.describe() and (setup.budget, setup.seed) == (Budget(rollouts=96), 4)
    actor = found.actor_rollout_ref.actor
    assert actor.optim.betas == [0.9, 0.95] and actor.optim.clip_grad == 0.5
    if recipe.objective.aggregation == "constant":
        assert actor.loss_scale_factor == 300


@pytest.mark.parametrize("aggregation", ["token", "sequence", "constant"])
@pytest.mark.parametrize("clips", [{}, {"clip_low": 0.1, "clip_high": 0.28, "clip_dual": 3.0}, {"clip_high": math.inf}])
def test_verl_then_computes_the_same_loss(compose, aggregation, clips):
    torch = pytest.importorskip("torch")
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.utils.config import omega_conf_to_dataclass

    from winnow.objective.config import Totals
    from winnow.objective.policy_loss import length_mask, policy_loss

    recipe = winnow.recipe("grpo", aggregation=aggregation, constant_length=11, **clips)
    plan = verl_plan(recipe, recipe_step(recipe, 2))
    actor = omega_conf_to_dataclass(compose(plan).actor_rollout_ref.actor)
    random = torch.Generator().manual_seed(0)
    old = -torch.rand(16, 7, generator=random, dtype=torch.float64)
    new = old + 3 * torch.randn(16, 7, generator=random, dtype=torch.float64)
    advantages = torch.randn(16, generator=random, dtype=torch.float64)
    lengths = torch.randint(1, 8, (16,), generator=random)
    mask = length_mask(lengths, 7)
    tokens = int(lengths.sum())
    actor.global_batch_info.update(
        dp_size=1, batch_num_tokens=tokens, global_batch_size=16, loss_scale_factor=actor.loss_scale_factor
    )
    theirs, _ = get_policy_loss_fn(actor.policy_loss.loss_mode)(
        old, new, advantages[:, None].expand(16, 7), mask.double(), actor.loss_agg_mode, actor
    )
    divisor = recipe.objective.divisor(Totals(16, tokens, 16, tokens))
    ours = policy_loss(new, old, advantages, torch.ones(16), lengths, recipe.objective, divisor).loss
    assert float(theirs) == pytest.approx(float(ours), rel=1e-6)  # verl adds 1e-8 to the tokens of a row
