"""Settings of verl under which a recipe could not do what it says, each refused with what to set instead."""

from __future__ import annotations

from typing import Any

from winnow.errors import ConfigError
from winnow.host.verl.settings import Settings, value
from winnow.objective.config import Objective
from winnow.plan.able import check_able
from winnow.plan.rows import rows_per_prompt, selects
from winnow.plan.verl import verl_objective
from winnow.recipe import Recipe

SAMPLER = "trainer.v1.sampler.custom_sampler"
REPLAY = "pkg://winnow.host.verl.replay"
MANAGER = "winnow.host.verl.manager.WinnowAgentLoopManager"
LOOPS = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"
"""verl knows the setting and has no line for it in its files: hydra wants ++ before it."""
CALLBACK = "winnow.host.verl.checkpoint.WinnowCheckpoint"

NEEDED = {
    "trainer.use_v1": (True, "the adapter sits in the V1 trainer"),
    "trainer.v1.trainer_mode": (
        "sync",
        "in the async modes prompts come and go one by one, and there is no step to share a budget over",
    ),
    "algorithm.adv_estimator": ("winnow", "advantages are the recipe's"),
}
"""Setting, the value it has to have, and why."""

OFF = {
    "critic.enable": "advantages come from the rewards of groups, a critic has no part in them",
    "algorithm.use_kl_in_reward": "the recipe decides on rewards before the reference has seen a rollout; "
    "use actor_rollout_ref.actor.use_kl_loss=True for a divergence",
    "algorithm.filter_groups.enable": "it replaces groups behind the recipe's back; use winnow.recipe=dapo, or "
    "+winnow.settings.gate=zero_signal to drop groups without signal",
    "trainer.v1.sampler.sync_refill_failed_groups": "a step has the prompts it began with; failed rollouts are charged "
    "and left out",
    "skip.rollout_tq.enable": "rollouts read from disk were not asked for by the recipe",
}
"""Settings that must not be switched on, and why."""


def refuse(config: Settings, recipe: Recipe) -> None:
    """Check the config of a run against its recipe.

    Raises:
        ConfigError: the message names the setting, what was found and what to set.
    """
    for path, (needed, why) in NEEDED.items():
        if (found := value(config, path)) != needed:
            raise ConfigError(f"{path}={found!r}: {why}; set {path}={needed}")
    for path, why in OFF.items():
        if value(config, path):
            raise ConfigError(f"{path}={value(config, path)!r}: {why}. Set {path}=False")
    check_able(recipe, "verl")
    _parts(config, recipe)
    _rewards(config)
    _advantages(config, recipe)
    _objective(config, recipe)
    _rows(config, recipe)


def _parts(config: Settings, recipe: Recipe) -> None:
    missing = [
        f"{path}={needed}"
        for path, needed in (
            (f"{SAMPLER}.path", REPLAY),
            (f"{SAMPLER}.name", "WinnowReplayBuffer"),
            (f"++{LOOPS}", MANAGER),
        )
        if not value(config, path.lstrip("+"))
    ]
    if missing:
        raise ConfigError(f"the parts of winnow have to be named in the config: set {' '.join(missing)}")
    saves = (value(config, "trainer.save_freq", -1) or -1) > 0
    if recipe.state_dict() and saves and not value(config, "trainer.checkpoint_callback_class"):
        raise ConfigError(
            f"recipe {recipe.name!r} keeps state that a checkpoint has to carry: set "
            f"trainer.checkpoint_callback_class={CALLBACK}, or trainer.save_freq=-1 to save nothing"
        )
    if (often := value(config, "trainer.v1.sync.parameter_sync_step", 1)) != 1:
        raise ConfigError(f"trainer.v1.sync.parameter_sync_step={often!r}: a step is sampled as a whole; set it to 1")


def _rewards(config: Settings) -> None:
    model = "reward.reward_model"
    if value(config, f"{model}.enable") and not value(config, f"{model}.enable_resource_pool"):
        raise ConfigError(
            f"{model}.enable=True without a pool of its own scores after sampling, too late for a recipe to decide on: "
            f"set {model}.enable_resource_pool=True with GPUs of its own, or use a rule-based reward"
        )


def _advantages(config: Settings, recipe: Recipe) -> None:
    if value(config, "algorithm.norm_adv_by_std_in_grpo", True) is not True:
        raise ConfigError(
            "algorithm.norm_adv_by_std_in_grpo=False has no effect here, advantages are the recipe's: leave it at True "
            f"and set winnow.recipe=dr-grpo, or +winnow.settings.advantage=centred for recipe {recipe.name!r}"
        )
    if recipe.weight != "rollout" and value(config, "actor_rollout_ref.actor.use_kl_loss"):
        raise ConfigError(
            f"weight={recipe.weight!r} multiplies the loss of a row, and verl's divergence term cannot be multiplied: "
            "set actor_rollout_ref.actor.use_kl_loss=False or +winnow.settings.weight=rollout"
        )


def objective_settings(objective: Objective) -> dict[str, Any]:
    """Return the settings of verl for whatever in an objective differs from winnow's default.

    What is at its default asks for nothing: the user's ``loss_agg_mode``, clipping and divergence stand.
    """
    default = verl_objective(Objective())
    wanted = verl_objective(objective)
    return {path: setting for path, setting in wanted.items() if default.get(path) != setting}


def _objective(config: Settings, recipe: Recipe) -> None:
    for path, wanted in objective_settings(recipe.objective).items():
        found = value(config, path)
        open_length = isinstance(wanted, str) and wanted.startswith("${")
        if found != wanted and not (open_length and found):
            raise ConfigError(
                f"recipe {recipe.name!r} trains with {path}={wanted}, found {found!r}: set it, or change the "
                "objective of the recipe"
            )


def _rows(config: Settings, recipe: Recipe) -> None:
    n, each = recipe.allocation.n, rows_per_prompt(recipe)
    path = "actor_rollout_ref.rollout.n"
    if (found := value(config, path)) != each:
        trained = f"m={each} of n={n}" if selects(recipe) else f"all n={n}"
        option = "m" if selects(recipe) else "n"
        raise ConfigError(
            f"{path}={found!r}: recipe {recipe.name!r} trains {trained} rollouts per prompt, and verl's rollout.n is "
            f"what trains (mini-batches are counted by it). Set {path}={each}, or +winnow.settings.{option}={found}"
        )
