"""A recipe: one answer to each of the five questions, checked as a whole and started as a step."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from winnow import advantage as advantages
from winnow import composition, gating
from winnow import curriculum as curricula
from winnow import selection as selections
from winnow.about import About
from winnow.advantage import WEIGHT_RULES, Advantage
from winnow.allocation import Allocation, Uniform
from winnow.budget import Budget
from winnow.candidates import Candidates
from winnow.checking import check_parts, load_states, with_settings
from winnow.curriculum import Curriculum
from winnow.errors import ConfigError, unknown
from winnow.feedback import Feedback, Remembers, Stateful
from winnow.objective.config import Objective
from winnow.observed import Observed
from winnow.recall import Repo
from winnow.selection import Select
from winnow.settings import PARTS, kind_of, named_part, plain, plain_settings, settings_of
from winnow.step import Step
from winnow.traits import Traits


@dataclass(frozen=True)
class Recipe(Traits):
    """A named combination of rules. Every field may be replaced, by name or by an object.

    Attributes:
        name: what logs and tables call it.
        curriculum: which of the prompts at hand get rollouts.
        allocation: how many rollouts each prompt gets.
        gate: which groups enter, a name in `winnow.gating.RULES` or a `winnow.gating.Gate`.
        selection: which rollouts train.
        advantage: what each is worth.
        weight: weight of unequal groups, see `winnow.advantage.group_weights`.
        stats: rows whose rewards the advantage is computed over: ``"kept"`` (PODS) or ``"full"``.
        signal: what allocation and gate look at: ``"outcome"``, the verifier's verdict (the reward where there
            is none), or ``"reward"``.
        objective: the loss.
        recall: which rollouts of earlier steps train again, or None.
        about: paper, savings, cost and known bias.

    Raises:
        ConfigError: if a name is unknown, or settings exclude each other, as m larger than n.
    """

    name: str = "custom"
    curriculum: Curriculum = field(default_factory=curricula.Uniform)
    allocation: Allocation = field(default_factory=Uniform)
    gate: str | gating.Gate = "none"
    selection: selections.Part = field(default_factory=Select)
    advantage: advantages.Part = field(default_factory=Advantage)
    weight: Literal["rollout", "prompt", "sqrt"] = "rollout"
    stats: Literal["kept", "full"] = "kept"
    signal: Literal["outcome", "reward"] = "outcome"
    objective: Objective = field(default_factory=Objective)
    recall: Repo | None = None
    about: About = field(default_factory=lambda: About("", "", "", "", ""))

    def __post_init__(self) -> None:
        check_parts({item.name: getattr(self, item.name) for item in fields(self)})
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
        composition.check(self)

    def observe(self, feedback: Feedback) -> None:
        """Tell every part that remembers of a finished step; `Step.finish` calls it."""
        for part in self._stateful().values():
            if isinstance(part, Remembers):
                part.observe(feedback)

    def fresh(self) -> Recipe:
        """Return a copy whose parts remember what these do, and go their own way from there."""
        return copy.deepcopy(self)

    def admit(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return the gate's mask over prompts."""
        gate = gating.RULES[self.gate] if isinstance(self.gate, str) else self.gate
        return gate(seen)

    def begin(
        self,
        prompts: int | Sized,
        *,
        budget: Budget | None = None,
        seed: int = 0,
        ids: Sequence[int | str] | npt.ArrayLike | None = None,
        features: npt.ArrayLike | None = None,
    ) -> Step:
        """Start one step.

        Args:
            prompts: their number, or the prompts themselves (only the number matters here). A host that honours
                `pool` gives ``pool`` times as many as it wants.
            budget: the most to generate; None takes ``n`` rollouts per prompt opened.
            seed: of every random choice in the step (random selection, random ties).
            ids: (P,) what prompts are called from step to step: whole numbers or texts. Needed by recipes that
                remember prompts.
            features: (P, D) a vector per prompt, for recipes that compare prompts.

        Raises:
            ConfigError: if there is no prompt, the budget is no `Budget`, the seed no whole number >= 0, or a recipe
                that remembers prompts is given no ids.
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
        if ids is None and self.remembers:
            raise ConfigError(
                f"recipe {self.name!r} remembers prompts from step to step: give begin(..., ids=...), a number or "
                "a text for each prompt that is the same whenever the prompt comes up"
            )
        candidates = Candidates.of(np.arange(count) if ids is None else ids, features)
        if len(candidates) != count:
            raise ConfigError(f"{len(candidates)} ids for {count} prompts: each prompt has one")
        return Step(self, candidates, budget, seed)

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
        plan = {key: named_part(self, key, value) for key, value in plan.items()}
        rest = {key: value for key, value in changes.items() if key not in own}
        for part_name in PARTS:
            part = plan.get(part_name, getattr(self, part_name))
            keys = settings_of(part) & rest.keys()
            if keys:
                plan[part_name] = with_settings(part, {key: rest[key] for key in keys})
        if "n" in rest and "n" not in settings_of(plan.get("allocation", self.allocation)):
            plan["allocation"] = plan.get("allocation", self.allocation).with_n(rest["n"])
        known = {"n"}.union(*(settings_of(plan.get(part, getattr(self, part))) for part in PARTS))
        for key in rest:
            if key not in known:
                raise unknown(f"setting of recipe {self.name!r}", key, known | own)
        return replace(self, **plan)

    def settings(self) -> set[str]:
        """Return every key that `override` accepts besides the recipe's own fields."""
        return {"n"}.union(*(settings_of(getattr(self, part)) for part in PARTS))

    def describe(self) -> dict[str, Any]:
        """Return all settings as plain values, for a configuration file or a log."""
        described: dict[str, Any] = {"name": self.name}
        for item in fields(self)[1:-1]:
            value = getattr(self, item.name)
            if is_dataclass(value) and not isinstance(value, type):
                described[item.name] = {**kind_of(item.name, value), **plain_settings(value)}
            else:
                described[item.name] = plain(value)
        return described

    def _stateful(self) -> dict[str, Stateful]:
        parts = {
            name: getattr(self, name)
            for name in ("curriculum", "allocation", "gate", "selection", "advantage", "recall")
        }
        return {name: part for name, part in parts.items() if isinstance(part, Stateful)}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every stateful part, by part; empty for rules without memory."""
        return {name: part.state_dict() for name, part in self._stateful().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`.

        Raises:
            ConfigError: if the saved parts are not those of this recipe, or one cannot be read; then nothing changes.
        """
        load_states(self._stateful(), state, self.name)
