"""When a run ends, and what its next step may spend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from winnow.budget import Budget
from winnow.errors import ConfigError
from winnow.train.config import TrainConfig
from winnow.train.state import Totals


@dataclass(frozen=True)
class Allowance:
    """What the next step may use.

    Attributes:
        prompts: how many prompts it draws.
        budget: what it may spend on them.
    """

    prompts: int
    budget: Budget


@dataclass(frozen=True)
class Limits:
    """The limits of a run; the first one reached ends it.

    Attributes:
        limits: value by name: ``steps``, ``rollouts``, ``tokens``, ``seconds``.
        prompts: prompts of a full step, spares included.
        n: mean rollouts per prompt, 2 or more.
        rollouts: rollouts of a full step, or None when steps are budgeted in tokens.
        tokens: tokens of a full step, or None when steps are budgeted in rollouts.
        longest: most tokens one rollout can take.
        spares: whether steps may spend less than they are allowed, because the recipe keeps spare prompts.
    """

    limits: Mapping[str, float]
    prompts: int
    n: float
    rollouts: int | None
    tokens: int | None
    longest: int
    spares: bool = False

    @classmethod
    def of(cls, config: TrainConfig, n: float, pool: int = 1, oversample: int = 1) -> Limits:
        """Read the limits of a configuration.

        Args:
            config: the settings.
            n: what the recipe draws per prompt on average.
            pool: prompts it takes to hand for each prompt of a step, see `winnow.Recipe.pool`.
            oversample: of these, candidates among which it opens some; they add no rollouts.
        """
        rollouts = None
        prompts = config.prompts_per_step * pool
        if config.budget_unit == "rollouts":
            rollouts = config.rollouts_per_step or round(prompts // oversample * n)
        longest = config.max_new_tokens
        return cls(config.limits, prompts, n, rollouts, config.tokens_per_step, longest, spares=pool > 1)

    def reached(self, totals: Totals) -> str | None:
        """Return what ended the run (``"limit rollouts"``), or None while another step fits."""
        for name, limit in self.limits.items():
            if getattr(totals, name) >= limit:
                return f"limit {name}"
        if self.limits.get("rollouts", 2.0) - totals.rollouts < 2 and "rollouts" in self.limits:
            return "limit rollouts"
        if "tokens" in self.limits and self.limits["tokens"] - totals.tokens < 2 * self.longest:
            return "limit tokens"
        return None

    def fraction(self, totals: Totals) -> float:
        """Return how much of the run is done, in [0, 1]: the largest spent share of any limit."""
        return min(1.0, max(float(getattr(totals, name)) / limit for name, limit in self.limits.items()))

    def total_updates(self, per_step: int) -> int:
        """Return how many optimiser steps the run will take, ``per_step`` in each step, for the schedule.

        Raises:
            ConfigError: nothing tells, as when only the clock limits the run, tokens do while steps are budgeted in
                rollouts, or steps may spend less than they are allowed.
        """
        steps = [float(self.limits["steps"])] if "steps" in self.limits else []
        for unit, full in (("rollouts", self.rollouts), ("tokens", self.tokens)):
            if unit in self.limits and full is not None and not self.spares:
                steps.append(math.ceil(self.limits[unit] / full))
        if not steps:
            raise ConfigError(
                f"lr_schedule needs a run of known length, and this one is limited by {', '.join(self.limits)}: "
                "set steps too, or use lr_schedule=constant"
            )
        return per_step * int(min(steps))

    def next(self, totals: Totals) -> Allowance:
        """Return the size of the next step.

        A full step while it fits whatever happens. Near a limit on rollouts the step is cut, and draws fewer
        prompts so that each still gets its share. Near a limit on tokens, where a full step of longest
        rollouts would not fit, the step gets a budget of tokens: what is left, at most what such a step
        usually takes.
        """
        rollouts_left = self._left("rollouts", totals.rollouts)
        tokens_left = self._left("tokens", totals.tokens)
        if self.rollouts is None:
            assert self.tokens is not None
            return self._in_tokens(min(self.tokens, tokens_left), self.tokens)
        rollouts = min(self.rollouts, rollouts_left)
        if rollouts * self.longest > tokens_left:
            usual = totals.tokens / totals.rollouts if totals.rollouts else self.longest
            full = max(2 * self.longest, round(rollouts * usual))
            return self._in_tokens(min(full, tokens_left), full)
        share = rollouts / self.rollouts
        return Allowance(max(1, int(self.prompts * share)), Budget(rollouts=rollouts))

    def _in_tokens(self, tokens: int, full: int) -> Allowance:
        prompts = max(1, int(self.prompts * tokens / full))
        return Allowance(prompts, Budget(tokens=tokens, longest=self.longest))

    def _left(self, name: str, used: int) -> int:
        limit = self.limits.get(name)
        return 2**62 if limit is None else max(0, int(limit) - used)
