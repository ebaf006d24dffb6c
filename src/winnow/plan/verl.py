"""What a recipe asks of verl 0.9's V1 trainer, as hydra overrides. Imports neither torch nor verl."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from winnow.errors import ConfigError
from winnow.objective.config import Objective
from winnow.plan.able import check_able, check_loss
from winnow.plan.hosts import HostPlan, HostSettings, largest_divisor, raised, translated
from winnow.plan.sizes import StepPlan

if TYPE_CHECKING:
    from winnow.budget import Budget
    from winnow.recipe import Recipe

ACTOR = "actor_rollout_ref.actor."
ROLLOUT = "actor_rollout_ref.rollout."
AGGREGATION = {"token": "token-mean", "sequence": "seq-mean-token-mean", "constant": "seq-mean-token-sum-norm"}
NO_DUAL_CLIP = 1e9
"""verl always bounds the loss of rows with A < 0; its ratios end at e^20, below this bound."""
GPUS_PER_NODE = 8
RUN = {
    "lr": f"{ACTOR}optim.lr",
    "lr_schedule": f"{ACTOR}optim.lr_scheduler_type",
    "warmup_steps": f"{ACTOR}optim.lr_warmup_steps",
    "weight_decay": f"{ACTOR}optim.weight_decay",
    "betas": f"{ACTOR}optim.betas",
    "max_grad_norm": f"{ACTOR}optim.clip_grad",
    "temperature": f"{ROLLOUT}temperature",
    "max_new_tokens": "data.max_response_length",
    "max_prompt_tokens": "data.max_prompt_length",
    "steps": "trainer.total_training_steps",
    "passes": "trainer.total_epochs",
    "seed": "+winnow.seed",
}


def verl_settings(
    plan: StepPlan, *, gpus: int = 1, minibatches: int = 1, epochs: int = 1, micro_batch: int | None = None
) -> HostSettings:
    """Return the sizes of a step in verl, where ``rollout.n`` is m: it counts what is trained.

    verl counts ``train_batch_size`` and ``ppo_mini_batch_size`` in prompts and multiplies by
    ``rollout.n``; rows that do not divide over the GPUs are padded, which these settings avoid.

    Args:
        plan: the step.
        gpus: data-parallel size.
        minibatches: optimiser steps of one pass over the rows.
        epochs: passes over the rows.
        micro_batch: rows of a forward pass at most; None takes the plan's, else one group.
    """
    # Rows of a mini-batch have to divide over the GPUs; raising prompts by whole mini-batches does it.
    unit = minibatches * (gpus // math.gcd(gpus, plan.m))
    prompts, changed = raised(plan.prompts, unit, "minibatches x gpus / gcd(gpus, m)")
    mini = prompts // minibatches
    local = mini * plan.m // gpus
    micro = largest_divisor(local, micro_batch or plan.micro_batch or plan.m)
    settings = {
        "data.train_batch_size": prompts,
        f"{ROLLOUT}n": plan.m,
        f"{ACTOR}ppo_mini_batch_size": mini,
        f"{ACTOR}ppo_micro_batch_size_per_gpu": micro,
        f"{ROLLOUT}log_prob_micro_batch_size_per_gpu": micro,
        f"{ACTOR}ppo_epochs": epochs,
    }
    rules = (
        f"{prompts} prompts = {minibatches} x ppo_mini_batch_size {mini} (prompts too)",
        f"mini-batch rows {mini} x rollout.n {plan.m} = {mini * plan.m}, a multiple of {gpus} GPUs",
        f"{local} rows per GPU and mini-batch, a multiple of the micro-batch",
    )
    return HostSettings(settings, rules, changed)


def verl_objective(objective: Objective) -> dict[str, Any]:
    """Return every setting of verl that an objective decides.

    Raises:
        ConfigError: verl has no such loss.
    """
    check_loss(objective, "verl")
    found = {
        f"{ACTOR}policy_loss.loss_mode": "vanilla",
        f"{ACTOR}loss_agg_mode": AGGREGATION[objective.aggregation],
        f"{ACTOR}clip_ratio_low": objective.clip_low,
        f"{ACTOR}clip_ratio_high": objective.clip_high,
        f"{ACTOR}clip_ratio_c": objective.clip_dual or NO_DUAL_CLIP,
        f"{ACTOR}entropy_coeff": 0,
        f"{ACTOR}use_kl_loss": objective.kl_beta > 0,
        "algorithm.use_kl_in_reward": False,
    }
    if objective.aggregation == "constant":
        found[f"{ACTOR}loss_scale_factor"] = objective.constant_length or "${data.max_response_length}"
    if objective.kl_beta > 0:
        found |= {f"{ACTOR}kl_loss_coef": objective.kl_beta, f"{ACTOR}kl_loss_type": "low_var_kl"}
    return found


def check_weight(recipe: Recipe, use_kl_loss: bool) -> None:
    """Refuse weights of groups beside a divergence, which verl adds to the loss unweighted.

    Raises:
        ConfigError: the recipe weighs groups and ``use_kl_loss`` is on.
    """
    if recipe.weight != "rollout" and use_kl_loss:
        raise ConfigError(
            f"weight={recipe.weight!r} multiplies the loss of a row, and verl's divergence term cannot be multiplied: "
            "set actor_rollout_ref.actor.use_kl_loss=False or +winnow.settings.weight=rollout"
        )


def verl_plan(
    recipe: Recipe,
    plan: StepPlan,
    *,
    gpus: int = 1,
    minibatches: int = 1,
    epochs: int = 1,
    micro_batch: int | None = None,
    budget: Budget | None = None,
    overrides: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> HostPlan:
    """Return everything that verl has to be told to run a recipe.

    Args:
        recipe: the recipe, overrides applied.
        plan: sizes of its step.
        gpus: as for `verl_settings`.
        minibatches: as for `verl_settings`.
        epochs: as for `verl_settings`.
        micro_batch: as for `verl_settings`.
        budget: of a step; None takes n rollouts per prompt.
        overrides: what `recipe` was given beside its name; the plugin in verl builds it anew from both.
        asked: settings of the run by their name in `winnow.train.TrainConfig`, and ``passes`` over the data.

    Raises:
        ConfigError: `winnow.host.verl` would refuse the recipe.
    """
    check_able(recipe, "verl")
    check_weight(recipe, recipe.objective.kl_beta > 0)
    sizes = verl_settings(plan, gpus=gpus, minibatches=minibatches, epochs=epochs, micro_batch=micro_batch)
    nodes = gpus // GPUS_PER_NODE if gpus > GPUS_PER_NODE and gpus % GPUS_PER_NODE == 0 else 1
    run, lost = _run(asked or {})
    fixed: dict[str, Any] = {
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": "sync",
        "trainer.nnodes": nodes,
        "trainer.n_gpus_per_node": gpus // nodes,
        f"{ROLLOUT}name": "vllm",
    }
    objective = verl_objective(recipe.objective)
    if recipe.objective.kl_beta > 0:
        micro = sizes.settings[f"{ROLLOUT}log_prob_micro_batch_size_per_gpu"]
        objective["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"] = micro
    switches = _switches(recipe, overrides or {}, budget) | {"+winnow.seed": run.pop("+winnow.seed", 0)}
    return HostPlan(sizes, objective, fixed | run, switches, (*_limits(recipe, sizes, gpus), *lost))


def _run(asked: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    passes = asked.get("passes", 1)
    if passes != int(passes):
        return translated(asked, {name: there for name, there in RUN.items() if name != "passes"})
    return translated({**asked, "passes": int(passes)} if "passes" in asked else asked, RUN)


def _switches(recipe: Recipe, overrides: Mapping[str, Any], budget: Budget | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "algorithm.adv_estimator": "winnow",
        "trainer.v1.sampler.custom_sampler.path": "pkg://winnow.host.verl.replay",
        "trainer.v1.sampler.custom_sampler.name": "WinnowReplayBuffer",
        f"++{ROLLOUT}agent.agent_loop_manager_class": "winnow.host.verl.manager.WinnowAgentLoopManager",
        "+winnow.recipe": recipe.name,
    }
    if recipe.state_dict():
        found["trainer.checkpoint_callback_class"] = "winnow.host.verl.checkpoint.WinnowCheckpoint"
    found |= {f"+winnow.settings.{key}": value for key, value in overrides.items()}
    if budget is not None:
        unit = "rollouts" if budget.rollouts is not None else "tokens"
        found[f"+winnow.{unit}"] = getattr(budget, unit)
    return found


def _limits(recipe: Recipe, sizes: HostSettings, gpus: int) -> tuple[str, ...]:
    objective = recipe.objective
    rows = sizes.settings[f"{ACTOR}ppo_mini_batch_size"] * sizes.settings[f"{ROLLOUT}n"]
    multiple, mode = math.lcm(gpus, rows), AGGREGATION[objective.aggregation]
    return tuple(
        line
        for line, holds in (
            (f"fewer or more rows are padded to a multiple of {multiple} = lcm(GPUs, ppo_mini_batch_size x rollout.n)",
             True),
            (f"loss_agg_mode={mode} divides the divergence by {rows} rows, padding included",
             objective.aggregation != "token" and objective.kl_beta > 0),
            (f"kl_clamp={objective.kl_clamp:g}: verl clamps the log-ratio at 20 and the divergence at 10",
             objective.kl_beta > 0),
            (f"spare prompts ({recipe.pool - 1} for each): those opened and not used are dropped, so an epoch by "
             f"verl's count reads {recipe.pool} times the data", recipe.pool > 1),
            ("a reward model needs reward.reward_model.enable_resource_pool=True: colocated it scores too late", True),
        )
        if holds
    )  # fmt: skip
