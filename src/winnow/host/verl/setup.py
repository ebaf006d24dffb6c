"""What a run of verl is asked to do: the ``winnow`` section of its config, as objects, checked against the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import winnow
from winnow.budget import Budget
from winnow.errors import ConfigError, unknown
from winnow.host import checkpoint
from winnow.host.verl.refusals import refuse
from winnow.host.verl.settings import Settings, value, whole
from winnow.recipe import Recipe
from winnow.settings import fitted

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
KEYS = ("recipe", "settings", "rollouts", "tokens", "seed", "outcome", "max_no_signal_steps")


@dataclass(frozen=True)
class Setup:
    """A recipe and its limits, the same in every process of a run.

    Attributes:
        recipe: what decides.
        prompts: of a step, spares of a refilling recipe not counted (verl's ``data.train_batch_size``).
        budget: the most a step may generate; None takes n rollouts per prompt.
        seed: of every choice the recipe draws.
        outcome: key of verl's ``reward_extra_info`` on which signal is judged; None: the reward.
        max_no_signal_steps: steps in a row without a row that teaches after which the run stops.
        loss_agg_mode: verl's, which decides what the loss is divided by.
        mini_batch: rows of one optimiser step over all GPUs.
    """

    recipe: Recipe
    prompts: int
    budget: Budget | None = None
    seed: int = 0
    outcome: str | None = None
    max_no_signal_steps: int = 20
    loss_agg_mode: str = "token-mean"
    mini_batch: int = 1
    identity: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", checkpoint.identity(self.recipe, self.budget, self.seed))

    @property
    def pool(self) -> int:
        """Prompts that a step opens over."""
        return self.prompts * self.recipe.pool

    @property
    def reads_prompts(self) -> bool:
        """Whether the recipe needs the texts of the prompts, to know them again or to compare them."""
        return self.recipe.remembers or self.recipe.compares

    @classmethod
    def read(cls, config: Settings) -> Setup:
        """Read and check the config of a run.

        Args:
            config: verl's, as a `DictConfig` or nested dicts.

        Raises:
            ConfigError: a setting is unknown, or contradicts the recipe; the message says what to set.
        """
        section = value(config, "winnow")
        if section is None:
            raise ConfigError("the config has no winnow section: add +winnow.recipe=<name> (see `winnow recipes`)")
        for key in section:
            if key not in KEYS:
                raise unknown("setting of winnow", str(key), KEYS)
        longest = whole(config, f"{ROLLOUT}.response_length", 1)
        recipe = fitted(_recipe(value(section, "recipe"), value(section, "settings")), longest)
        setup = cls(
            recipe=recipe,
            prompts=whole(config, "data.train_batch_size", 1),
            budget=_budget(section, longest),
            seed=whole(config, "winnow.seed", 0, default=0),
            outcome=value(section, "outcome"),
            max_no_signal_steps=whole(config, "winnow.max_no_signal_steps", 0, default=20),
            loss_agg_mode=value(config, f"{ACTOR}.loss_agg_mode", "token-mean"),
            mini_batch=whole(config, f"{ACTOR}.ppo_mini_batch_size", 1) * whole(config, f"{ROLLOUT}.n", 1),
        )
        refuse(config, recipe)
        return setup


def _recipe(name: Any, settings: Settings | None) -> Recipe:
    """Return a recipe by its name, or by the place of a `Recipe` of the user's own: ``package.module:name``."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"winnow.recipe={name!r}: give the name of a recipe, or 'package.module:name' of your own")
    overrides = {str(key): settings[key] for key in settings} if settings else {}
    if ":" not in name:
        return winnow.recipe(name, **overrides)
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"winnow.recipe={name!r} cannot be imported: {error}") from error
    if not isinstance(found, Recipe):
        raise ConfigError(f"winnow.recipe={name!r} is a {type(found).__name__}: it has to be a winnow.Recipe")
    return winnow.recipe(found, **overrides)


def _budget(section: Settings, longest: int) -> Budget | None:
    rollouts, tokens = value(section, "rollouts"), value(section, "tokens")
    if rollouts is None and tokens is None:
        return None
    return Budget(rollouts=rollouts, tokens=tokens, longest=longest if tokens is not None else None)
