"""What is printed for TRL is what TRL takes, and what the trainer does not refuse."""

import functools

import pytest

pytest.importorskip("trl")

import trl

import winnow
from tests.plan.recipes import LOSSES, reason, settings, trained
from winnow.budget import Budget
from winnow.errors import ConfigError
from winnow.host.trl import settings as trainer
from winnow.host.trl.begin import check_recipe
from winnow.plan import recipe_step, trl_plan, trl_text
from winnow.registry import names

COLUMNS = ("truncated",)
RUN = [name for name in names() if not reason(winnow.recipe(name, **settings(name)), COLUMNS)]


@pytest.fixture
def pasted(monkeypatch, tmp_path):
    """Run the printed lines as they are, on so many processes; return what they define."""
    on_cpu = functools.partial(trl.GRPOConfig, use_cpu=True, bf16=False, output_dir=str(tmp_path))
    monkeypatch.setattr(trl, "GRPOConfig", on_cpu)

    def paste(text, processes):
        monkeypatch.setattr(trl.GRPOConfig.func, "world_size", property(lambda self: processes))
        found = {}
        exec(text, found)
        return found

    return paste


def made(recipe, processes, *, overrides=None, budget=None, **shape):
    passes = {key: shape[key] for key in ("epochs", "minibatches") if key in shape}
    step = recipe_step(recipe, 6, **passes)
    plan = trl_plan(recipe, step, processes=processes, budget=budget, **shape)
    return plan, trl_text(plan, recipe.name, overrides or {}, budget)


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.parametrize("name", RUN)
def test_every_recipe_that_trl_can_run_can_be_pasted(pasted, name, processes):
    changes = settings(name)
    recipe = winnow.recipe(name, **changes)
    plan, text = made(recipe, processes, overrides=changes, minibatches=2, epochs=3, micro_batch=3)
    found = pasted(text, processes)
    args = found["args"]
    check_recipe(found["recipe"])
    trainer.check(found["recipe"], None, args)
    assert found["recipe"].describe() == recipe.describe()

    assert args.num_generations == trained(recipe)
    per_process = args.per_device_train_batch_size * args.steps_per_generation
    assert per_process % args.num_generations == 0  # whole groups on every process
    assert args.generation_batch_size == per_process * processes
    assert args.steps_per_generation == 2 * args.gradient_accumulation_steps and args.num_iterations == 3
    prompts = args.generation_batch_size // args.num_generations
    assert prompts == {1: 6, 2: 8, 8: 16}[processes] and bool(plan.sizes.changed) == (prompts != 6)
    assert args.per_device_train_batch_size <= 3

    loss = recipe.objective
    assert (args.loss_type, args.epsilon, args.epsilon_high) == (
        LOSSES[loss.aggregation],
        loss.clip_low,
        loss.clip_high,
    )
    assert (args.beta, args.scale_rewards, args.delta) == (loss.kl_beta, "group", loss.clip_dual)
    assert bool(loss.kl_beta) <= (recipe.weight == "rollout")


def test_what_trl_cannot_run_is_refused_by_plan_and_trainer_alike(tmp_path):
    refused = {name: why for name in names() if (why := reason(winnow.recipe(name), COLUMNS))}
    assert {"branch", "repo", "gmpo", "flowrl", "cue-grpo"} <= refused.keys()
    for name, why in refused.items():
        recipe = winnow.recipe(name)
        with pytest.raises(ConfigError, match=why) as planned:
            made(recipe, 1)
        with pytest.raises(ConfigError) as found:
            check_recipe(recipe)
            trainer.check(recipe, None, trl.GRPOConfig(use_cpu=True, bf16=False, output_dir=str(tmp_path)))
        assert str(found.value) == str(planned.value)
        if why in ("ratio=", "flow_beta="):
            with pytest.raises(ConfigError, match=why):
                trainer.grpo_config(recipe, prompts=2, output_dir=str(tmp_path), use_cpu=True, bf16=False)


def test_overrides_budget_and_run_are_pasted_too(pasted):
    changes = {"n": 16, "m": 4, "signal": "reward", "clip_high": float("inf"), "clip_dual": 3.0, "kl_beta": 0.01}
    recipe = winnow.recipe("pods", **changes)
    asked = {"lr": 1e-6, "lr_schedule": "constant", "warmup_steps": 5, "steps": 100, "seed": 3, "lora_rank": 8}
    plan, text = made(recipe, 2, overrides=changes, budget=Budget(rollouts=80), epochs=2, asked=asked)
    found = pasted(text, 2)
    args = found["args"]
    trainer.check(found["recipe"], found["budget"], args)
    assert found["recipe"].describe() == recipe.describe() and found["budget"] == Budget(rollouts=80)
    assert (args.learning_rate, args.lr_scheduler_type, args.warmup_steps) == (1e-6, "constant_with_warmup", 5)
    assert (args.max_steps, args.seed) == (200, 3)
    assert (args.epsilon_high, args.delta, args.beta) == (float("inf"), 3.0, 0.01)
    assert "not carried over: lora_rank" in plan.limits


def test_the_length_that_dr_grpo_divides_by_wins(pasted):
    recipe = winnow.recipe("dr-grpo", constant_length=100)
    plan, text = made(recipe, 1, overrides={"constant_length": 100}, asked={"max_new_tokens": 64})
    args = pasted(text, 1)["args"]
    trainer.check(recipe, None, args)
    assert args.max_completion_length == 100
    assert any("constant_length = 100" in line for line in plan.limits)


@pytest.mark.parametrize(
    ("recipe", "budget"),
    [
        (winnow.recipe("vigor"), Budget(rollouts=64)),
        (winnow.recipe("vigor"), Budget(tokens=4096)),
        (winnow.recipe("dapo", factor=1.5), None),
        (winnow.recipe("vigor", weight="prompt", kl_beta=0.1), None),
    ],
)
def test_plan_and_trainer_refuse_alike(pasted, recipe, budget):
    with pytest.raises(ConfigError) as planned:
        made(recipe, 1, budget=budget)
    accepted = winnow.recipe("grpo", kl_beta=recipe.objective.kl_beta, clip_high=recipe.objective.clip_high)
    args = pasted(made(accepted, 1)[1], 1)["args"]
    with pytest.raises(ConfigError) as refused:
        trainer.check(recipe, budget, args)
    assert str(planned.value) == str(refused.value)


def test_limits_are_told_where_they_hold():
    told = " ".join(made(winnow.recipe("dapo"), 8)[0].limits)
    assert "multiples of 8 only" in told and "spare prompts (2 for each)" in told and "clamp" not in told
    assert "does not clamp" in " ".join(made(winnow.recipe("grpo", kl_beta=0.1), 1)[0].limits)
