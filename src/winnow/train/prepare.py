"""Set-up of a run: everything that can be wrong is found here, the cheap checks before the model is loaded."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import winnow
from winnow import task as tasks
from winnow.errors import ConfigError, DataError
from winnow.model.lora import LoraSettings, attach
from winnow.plan.passes import first_pass_note
from winnow.plan.rows import rollouts_range
from winnow.recipe import Recipe
from winnow.settings import fitted
from winnow.task import Task
from winnow.train.config import TrainConfig, recipe_overrides
from winnow.train.encoding import Split, check_left, encode, note_dropped, prompt_limit
from winnow.train.limits import Limits
from winnow.train.scoring import supervised

if TYPE_CHECKING:
    from winnow.engine import Sampler


@dataclass(frozen=True)
class Setup:
    """A run that passed all checks.

    Attributes:
        task: the task as loaded.
        recipe: the recipe with its overrides.
        limits: when the run ends and what a step may spend.
        model: the policy, with adapters where LoRA is asked for.
        tokenizer: its tokenizer.
        model_name: where the policy came from.
        train: prompts to train on, over-long ones dropped.
        test: held-out prompts for evaluation; may be empty.
        notes: what a person should read before the first step.
    """

    task: Task
    recipe: Recipe
    limits: Limits
    model: Any
    tokenizer: Any
    model_name: str
    train: Split
    test: Split
    notes: tuple[str, ...]


def training_sampler(config: TrainConfig, setup: Setup, **options: Any) -> Sampler:
    """Return a sampler with the settings of training; ``options`` go to `winnow.engine.Sampler` as they are."""
    from winnow.engine import Sampler

    return Sampler(
        setup.model,
        setup.tokenizer,
        max_new_tokens=config.max_new_tokens,
        temperature=config.temperature,
        slots=config.slots,
        **options,
    )


def check_recipe(config: TrainConfig) -> Recipe:
    """Build the recipe and check its sizes against the budget; needs neither data nor model.

    Raises:
        ConfigError: the recipe or one of its options is unknown, sizes contradict each other, or a step's
            budget cannot give every prompt two rollouts.
    """
    overrides = recipe_overrides(config)
    recipe = winnow.recipe(config.recipe, **overrides)
    _check_kept(recipe, "m" in overrides)
    if recipe.objective.aggregation == "constant" and recipe.objective.constant_length is None:
        recipe = recipe.override(constant_length=config.max_new_tokens)
    recipe = fitted(recipe, config.max_new_tokens)
    if config.rollouts_per_step is not None and config.rollouts_per_step < 2 * config.prompts_per_step:
        raise ConfigError(
            f"rollouts_per_step={config.rollouts_per_step} gives {config.prompts_per_step} prompts fewer than two "
            f"rollouts each; use at least {2 * config.prompts_per_step} or lower prompts_per_step"
        )
    limits = Limits.of(config, recipe.allocation.n, recipe.pool, recipe.oversample)
    for name, smallest in (("rollouts", 2 * config.prompts_per_step), ("tokens", 2 * config.max_new_tokens)):
        limit = limits.limits.get(name)
        if limit is not None and limit < smallest:
            raise ConfigError(f"{name}={limit:g} ends the run before its first step; it takes at least {smallest}")
    return recipe


def _check_kept(recipe: Recipe, m_is_set: bool) -> None:
    m, n, largest = recipe.selection.m, recipe.allocation.n, recipe.allocation.largest
    if recipe.selection.name != "all_rows":
        return
    if m_is_set and isinstance(m, int) and m > largest:
        raise ConfigError(f"m={m} > n={n}: no more rollouts can be trained on than are generated")
    elif m_is_set and m != 1.0:
        raise ConfigError(
            f"m={m:g}: recipe {recipe.name} trains on all rollouts: m has no effect; use pods or vigor+pods, or "
            "--set recipe_options.selection=max_variance"
        )


def load_task(config: TrainConfig) -> Task:
    """Load the task and check that it fills a step.

    Raises:
        DataError: fewer rows than ``prompts_per_step``, so that no step would ever run.
    """
    task = tasks.load(config.task, seed=config.task_seed, options=config.task_options)
    check_size(len(task.train), config.prompts_per_step, task.name)
    return task


def check_size(rows: int, prompts_per_step: int, name: str) -> None:
    """Refuse a training split that does not fill one step.

    Raises:
        DataError: the message names both numbers.
    """
    if rows < prompts_per_step:
        raise DataError(
            f"task {name}: {rows} training rows, but prompts_per_step={prompts_per_step}: no step would run; "
            f"add rows or set prompts_per_step to at most {max(rows, 1)}"
        )


def prepare(config: TrainConfig, *, task: Task | None = None, policy: tuple[Any, Any] | None = None) -> Setup:
    """Do every check and load everything, in the order of cost: settings, recipe, data, model, prompts.

    Args:
        config: the settings.
        task: a task made in Python, instead of ``config.task``.
        policy: a model and its tokenizer, instead of ``config.model``.

    Raises:
        ConfigError: settings contradict each other or the model.
        DataError: the data cannot be used.
    """
    recipe = check_recipe(config)
    if task is None:
        task = load_task(config)
    else:
        check_size(len(task.train), config.prompts_per_step, task.name)
    task = replace(task, reward=supervised(task.reward, config))
    model, tokenizer, name = _policy(config, task, policy)
    limit, why = prompt_limit(config, model)
    notes = [*task.notes]
    train, dropped = encode(task.train, tokenizer, limit, config)
    if dropped:
        notes.append(note_dropped("training", dropped, limit, why))
        check_left(len(train), config.prompts_per_step, notes[-1])
    test, dropped = encode(task.test[: config.eval_prompts], tokenizer, limit, config)
    if dropped:
        notes.append(note_dropped("held-out", dropped, limit, why))
    if not test.prompts and config.eval_prompts:
        notes.append(f"task {task.name} has no held-out prompts: accuracy will not be measured")
    limits = Limits.of(config, recipe.allocation.n, recipe.pool, recipe.oversample)
    if note := first_pass_note(recipe, config.prompts_per_step, most_steps(config, recipe), len(train)):
        notes.append(note)
    return Setup(task, recipe, limits, model, tokenizer, name, train, test, tuple(notes))


def most_steps(config: TrainConfig, recipe: Recipe) -> float | None:
    """Return the most steps that fit into the limits of a run, None where only the clock tells."""
    rollouts = config.rollouts_per_step or rollouts_range(recipe, config.prompts_per_step)[0]
    each = {"steps": 1, "rollouts": rollouts, "tokens": config.tokens_per_step}
    steps = [limit / size for name, limit in config.limits.items() if (size := each.get(name))]
    return math.ceil(min(steps)) if steps else None


def _policy(config: TrainConfig, task: Task, policy: tuple[Any, Any] | None) -> tuple[Any, Any, str]:
    lora = None
    if config.lora_rank is not None:
        lora = LoraSettings(config.lora_rank, config.lora_alpha, config.lora_targets or "all-linear")
    if policy is not None:
        model, tokenizer = policy
        if lora is not None:
            model = attach(model, lora)
        return model, tokenizer, str(getattr(model.config, "_name_or_path", "") or type(model).__name__)
    source = config.model or task.policy
    if source is None:
        raise ConfigError(
            f"task {task.name} ships no policy: set model to the folder of a causal language model, or to "
            "'built-in' for the tiny policy that ships with winnow (plain ASCII text, at most 256 characters)"
        )
    from winnow.model.load import load

    loaded = load(source, device=config.device, dtype=config.dtype, lora=lora)
    return loaded.model, loaded.tokenizer, str(source)
