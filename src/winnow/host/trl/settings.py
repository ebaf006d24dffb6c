"""What a recipe asks of `trl.GRPOConfig`, worked out for the user and checked in the trainer."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from accelerate import PartialState
from transformers import ProcessorMixin
from trl import GRPOConfig

import winnow
from winnow.budget import Budget
from winnow.errors import ConfigError, unknown
from winnow.host.trl.kept import ROW_MEANS, TOKEN_MEANS
from winnow.plan import objective_settings, recipe_step, rows_per_prompt, trl_settings
from winnow.plan.rows import selects
from winnow.plan.trl import check_room, check_weight
from winnow.recipe import Recipe


def grpo_config(
    recipe: str | Recipe, *, prompts: int, micro_batch: int | None = None, minibatches: int = 1, **settings: Any
) -> GRPOConfig:
    """Return a `GRPOConfig` for a recipe, with batches counted in prompts.

    Args:
        recipe: its name, or the recipe.
        prompts: prompts of a step, over all processes; raised, with a warning, to the next number that the
            processes and minibatches divide.
        micro_batch: rows of one forward pass of one process at most; None takes one group.
        minibatches: optimiser steps of one pass over the rows of a step.
        **settings: everything else, as `GRPOConfig` takes it.

    Raises:
        ConfigError: a setting is given that follows from the others.
    """
    chosen = winnow.recipe(recipe)
    host = trl_settings(
        recipe_step(chosen, prompts),
        processes=PartialState().num_processes,
        minibatches=minibatches,
        epochs=settings.get("num_iterations", 1),
        micro_batch=micro_batch,
    )
    for line in host.changed:
        warnings.warn(line, stacklevel=2)
    worked_out = host.settings | objective_settings(chosen.objective)
    if clash := (worked_out.keys() - {"num_iterations"}) & settings.keys():
        raise ConfigError(
            f"{', '.join(sorted(clash))}: worked out from recipe, prompts, micro_batch and minibatches; leave it out, "
            "or write a GRPOConfig by hand"
        )
    return GRPOConfig(**worked_out, **{key: value for key, value in settings.items() if key != "num_iterations"})


def check_kind(dataset: Any, keywords: dict[str, Any]) -> None:
    """Refuse what decides itself how rollouts come about, or needs more than text.

    Args:
        dataset: the training dataset.
        keywords: arguments of `GRPOTrainer`.

    Raises:
        ConfigError: the message names it.
    """
    for name in ("rollout_func", "tools", "environment_factory"):
        if keywords.get(name):
            raise ConfigError(
                f"{name}: rollouts of several turns are not supported, only single completions of a prompt"
            )
    images = sorted({"image", "images"} & set(getattr(dataset, "column_names", None) or ()))
    if images or isinstance(keywords.get("processing_class"), ProcessorMixin):
        raise ConfigError(f"images ({', '.join(images) or 'a processor'}): only text prompts are supported")


def check(recipe: Recipe, budget: Budget | None, args: GRPOConfig) -> None:
    """Refuse settings of TRL that contradict the recipe.

    Raises:
        ConfigError: the message says what to set, in TRL or in the recipe.
    """
    if args.loss_type not in ROW_MEANS + TOKEN_MEANS:
        raise unknown("loss_type (its denominator has to be known)", args.loss_type, ROW_MEANS + TOKEN_MEANS)
    if args.scale_rewards != "group":
        rules = "advantage='centred' for 'none', advantage='reinforce_pp' for 'batch'"
        raise ConfigError(
            f"scale_rewards={args.scale_rewards!r}: advantages are the recipe's; leave it at 'group' and give the "
            f"recipe a rule, as winnow.recipe({recipe.name!r}, {rules})"
        )
    if args.multi_objective_aggregation != "sum_then_normalize":
        raise ConfigError(
            f"multi_objective_aggregation={args.multi_objective_aggregation!r} scales each reward function within "
            "complete groups, but the recipe decides on rollouts before groups are complete: use 'sum_then_normalize'"
        )
    if args.auto_find_batch_size:
        raise ConfigError("auto_find_batch_size=True changes the batch behind the groups' back: set it to False")
    check_weight(recipe, args.beta)
    _check_objective(recipe, args)
    _check_rows(recipe, budget, args)


def _check_objective(recipe: Recipe, args: GRPOConfig) -> None:
    for name, value in objective_settings(recipe.objective).items():
        found = getattr(args, name)
        found = args.epsilon if name == "epsilon_high" and found is None else found
        if found != value:
            raise ConfigError(
                f"recipe {recipe.name!r} trains with {name}={value!r}, found {found!r}: set GRPOConfig({name}="
                f"{value!r}) (winnow.host.trl.grpo_config does), or change the objective of the recipe"
            )


def _check_rows(recipe: Recipe, budget: Budget | None, args: GRPOConfig) -> None:
    n, each = recipe.allocation.n, rows_per_prompt(recipe)
    prompts = args.generation_batch_size // args.num_generations
    if args.num_generations != each:
        trained = f"m={each} of n={n}" if selects(recipe) else f"all n={n}"
        options = f"m={args.num_generations}" if selects(recipe) else f"n={args.num_generations}"
        raise ConfigError(
            f"num_generations={args.num_generations}: recipe {recipe.name!r} trains {trained} rollouts per prompt, and "
            f"TRL's num_generations is what trains. Set GRPOConfig({_legal(recipe, prompts, args)}), or use "
            f"recipe=winnow.recipe({recipe.name!r}, {options})"
        )
    check_room(recipe, budget, prompts, each)


def _legal(recipe: Recipe, prompts: int, args: GRPOConfig) -> str:
    host = trl_settings(
        recipe_step(recipe, max(1, prompts)),
        processes=PartialState().num_processes,
        micro_batch=args.per_device_train_batch_size,
    ).settings
    shown = ("num_generations", "per_device_train_batch_size", "steps_per_generation", "gradient_accumulation_steps")
    return ", ".join(f"{name}={host[name]}" for name in shown)


def with_longest(budget: Budget | None, args: GRPOConfig) -> Budget | None:
    """Let a token budget reserve TRL's longest completion for each rollout, so that many can run at once."""
    if budget is None or budget.tokens is None or budget.longest is not None:
        return budget
    return replace(budget, longest=args.max_completion_length)
