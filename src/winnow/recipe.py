"""A recipe: one answer to each of the five questions, checked as a whole and started as a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from winnow import allocation as allocations
from winnow import gating
from winnow.advantage import WEIGHT_RULES, Advantage
from winnow.allocation import Allocation, Uniform
from winnow.budget import Budget
from winnow.errors import ConfigError, unknown
from winnow.objective.config import Objective
from winnow.observed import Observed
from winnow.selection import Select
from winnow.step import Step


@dataclass(frozen=True, slots=True)
class About:
    """What a reader should know before choosing a recipe: one line each."""

    paper: str
    idea: str
    saves: str
    costs: str
    bias: str


@dataclass(frozen=True)
class Recipe:
    """A named combination of rules. Every field may be replaced, by name or by an object.

    Attributes:
        name: what logs and tables call it.
        allocation: how many rollouts each prompt gets.
        gate: which groups enter, a name in `winnow.gating.RULES` or a `winnow.gating.Gate`.
        selection: which rollouts train.
        advantage: what each is worth.
        weight: weight of unequal groups, see `winnow.advantage.group_weights`.
        stats: rows whose rewards the advantage is computed over: ``"kept"`` (PODS) or ``"full"``.
        signal: what allocation and gate look at: ``"outcome"``, the verifier's verdict (the reward where there
            is none), or ``"reward"``.
        objective: the loss.
        about: paper, savings, cost and known bias.

    Raises:
        ConfigError: if a name is unknown, or settings exclude each other, as m larger than n.
    """

    name: str = "custom"
    allocation: Allocation = field(default_factory=Uniform)
    gate: str | gating.Gate = "none"
    selection: Select = field(default_factory=Select)
    advantage: Advantage = field(default_factory=Advantage)
    weight: Literal["rollout", "prompt", "sqrt"] = "rollout"
    stats: Literal["kept", "full"] = "kept"
    signal: Literal["outcome", "reward"] = "outcome"
    objective: Objective = field(default_factory=Objective)
    about: About = field(default_factory=lambda: About("", "", "", "", ""))

    def __post_init__(self) -> None:
        if isinstance(self.gate, str) and self.gate not in gating.RULES:
            raise unknown("gate", self.gate, gating.RULES)
        for name, allowed in (
            ("weight", WEIGHT_RULES),
            ("stats", ("kept", "full")),
            ("signal", ("outcome", "reward")),
        ):
            if getattr(self, name) not in allowed:
                raise unknown(name, getattr(self, name), allowed)
        n, m = self.allocation.n, self.selection.m
        if n < 2:
            raise ConfigError(f"n={n}: one rollout per prompt has no group baseline; use n >= 2")
        if isinstance(m, int) and self.selection.name != "all_rows":
            if m == 1:
                raise ConfigError("m=1: one kept rollout has no group baseline; use m >= 2")
            if m > self.allocation.largest:
                raise ConfigError(
                    f"m={m} > n={n}: no prompt has more than {self.allocation.largest} rollouts to keep {m} of; "
                    f"lower m or raise n"
                )

    @property
    def barrier(self) -> bool:
        """True if the allocation decides round by round, False if it can use each result as it comes."""
        return self.allocation.barrier

    @property
    def pool(self) -> int:
        """Prompts a host draws for every prompt of a step; above 1 where the allocation keeps spares (`Refill`)."""
        return int(getattr(self.allocation, "pool", 1))

    def admit(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return the gate's mask over prompts."""
        gate = gating.RULES[self.gate] if isinstance(self.gate, str) else self.gate
        return gate(seen)

    def begin(self, prompts: int | Sized, *, budget: Budget | None = None, seed: int = 0) -> Step:
        """Start one step.

        Args:
            prompts: their number, or the prompts themselves (only the number matters here).
            budget: the most to generate; None takes ``n`` rollouts per prompt.
            seed: of every random choice in the step (random selection, random ties).

        Raises:
            ConfigError: if there is no prompt, the budget is no `Budget`, or the seed no whole number >= 0.
        """
        if isinstance(prompts, str | bool) or not isinstance(prompts, int | np.integer | Sized):
            raise ConfigError(f"prompts={prompts!r}: give their number, or a sequence of them")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ConfigError(f"seed={seed!r}: use a whole number >= 0")
        count = int(prompts) if isinstance(prompts, int | np.integer) else len(prompts)
        if count < 1:
            raise ConfigError(f"a step over {count} prompts: at least 1 is needed")
        if budget is not None and not isinstance(budget, Budget):
            raise ConfigError(f"budget={budget!r}: use winnow.Budget(rollouts=...) or winnow.Budget(tokens=...)")
        return Step(self, count, budget or Budget(rollouts=count * self.allocation.n), seed)

    def override(self, **changes: Any) -> Recipe:
        """Return a copy with some settings changed.

        A key is a field of the recipe (``gate="zero_signal"``, ``selection="random"``) or of one of its parts
        (``m=8``, ``rounds=3``, ``eps=1e-6``, ``clip_high=0.28``); ``n`` rescales the allocation. A key that
        several parts have (``ties``) changes all of them.

        Raises:
            ConfigError: if a key is unknown (with a suggestion) or a value is out of range.
        """
        own = {item.name for item in fields(self)}
        plan: dict[str, Any] = {key: changes[key] for key in own & changes.keys()}
        plan = {key: _named_part(self, key, value) for key, value in plan.items()}
        rest = {key: value for key, value in changes.items() if key not in own}
        for part_name in ("allocation", "selection", "advantage", "objective"):
            part = plan.get(part_name, getattr(self, part_name))
            keys = _settings(part) & rest.keys()
            if keys:
                plan[part_name] = replace(part, **{key: rest[key] for key in keys})
        if "n" in rest and "n" not in _settings(plan.get("allocation", self.allocation)):
            plan["allocation"] = plan.get("allocation", self.allocation).with_n(rest["n"])
        known = self.settings()
        for key in rest:
            if key not in known and key not in _settings(plan.get("allocation", self.allocation)):
                raise unknown(f"setting of recipe {self.name!r}", key, known | own)
        return replace(self, **plan)

    def settings(self) -> set[str]:
        """Return every key that `override` accepts besides the recipe's own fields."""
        parts = (self.allocation, self.selection, self.advantage, self.objective)
        return {"n"}.union(*(_settings(part) for part in parts))

    def describe(self) -> dict[str, Any]:
        """Return all settings as plain values, for a configuration file or a log."""
        described: dict[str, Any] = {"name": self.name}
        for item in fields(self):
            if item.name in ("name", "about"):
                continue
            value = getattr(self, item.name)
            if is_dataclass(value) and not isinstance(value, type):
                kind = {"allocation": type(value).__name__.lower()} if item.name == "allocation" else {}
                described[item.name] = {**kind, **{k: _plain(v) for k, v in asdict(value).items()}}
            else:
                described[item.name] = _plain(value)
        return described

    def _stateful(self) -> dict[str, Any]:
        parts = {"allocation": self.allocation, "gate": self.gate, "selection": self.selection}
        return {name: part for name, part in parts.items() if hasattr(part, "state_dict")}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every stateful part, by part; empty for rules without memory."""
        return {name: part.state_dict() for name, part in self._stateful().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`.

        Raises:
            ConfigError: if the saved parts are not those of this recipe.
        """
        parts = self._stateful()
        if parts.keys() != state.keys():
            raise ConfigError(
                f"recipe {self.name!r} keeps state for {sorted(parts)}, the checkpoint has {sorted(state)}"
            )
        for name, part in parts.items():
            part.load_state_dict(state[name])


def _settings(part: object) -> set[str]:
    if not is_dataclass(part):
        return set()
    return {item.name for item in fields(part) if item.init and item.name != "rule"}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else getattr(value, "__name__", repr(value))


def _named_part(recipe: Recipe, key: str, value: Any) -> Any:
    """Turn a rule given by name, or as a bare function, into the part that holds it."""
    if key == "allocation" and isinstance(value, str):
        if value not in allocations.RULES:
            raise unknown("allocation", value, allocations.RULES)
        return allocations.RULES[value]()
    if key == "selection" and not isinstance(value, Select):
        return replace(recipe.selection, rule=value)
    if key == "advantage" and not isinstance(value, Advantage):
        return replace(recipe.advantage, rule=value)
    return value


_REGISTRY: dict[str, Callable[[], Recipe]] = {}


def register(name: str, build: Callable[[], Recipe]) -> None:
    """Make a recipe available by name, in `recipe` and on the command line."""
    _REGISTRY[name] = build


def names() -> list[str]:
    """Return the registered names, presets first in the order they are told in."""
    return list(_REGISTRY)


def recipe(name: str | Recipe, **overrides: Any) -> Recipe:
    """Return a recipe by name, with some settings changed; see `Recipe.override`.

    Raises:
        ConfigError: if the name or a setting is unknown; the message suggests the nearest.
    """
    if isinstance(name, Recipe):
        return name.override(**overrides)
    if name not in _REGISTRY:
        raise unknown("recipe", name, _REGISTRY)
    return _REGISTRY[name]().override(**overrides)
