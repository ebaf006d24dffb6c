"""What every advantage rule shares: centring that survives offsets, and the test for signal."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from winnow.advantage.ranges import check_told
from winnow.columns import needed
from winnow.errors import ConfigError, GroupWarning, unknown
from winnow.groups import FloatArray, Groups, as_rewards, scorable

AdvantageRule = Callable[..., FloatArray]
RULES: dict[str, AdvantageRule] = {}

PARTS: dict[str, Callable[[], Part]] = {}
"""Advantages with settings of their own, by name."""


def register(rule: AdvantageRule) -> AdvantageRule:
    """Make a rule available by its function name in recipes (a decorator)."""
    RULES[rule.__name__] = rule
    return rule


@dataclass(frozen=True, slots=True)
class Centred:
    """Rewards of scorable rows minus their group's mean, in group order.

    Attributes:
        groups: the scorable rows by group.
        deviation: float64 (rows,), exactly 0 in groups without signal.
        size: number of rows given, unscorable ones included.
    """

    groups: Groups
    deviation: FloatArray
    size: int

    @classmethod
    def of(cls, rewards: npt.ArrayLike, groups: npt.ArrayLike | None) -> Centred:
        """Centre rewards (N,) by group; NaN, None and infinite rewards take no part."""
        values = as_rewards(rewards)
        rows = scorable(values)
        members = Groups.of(groups, len(values), rows)
        if rows is None and len(members.sizes) > 1 and members.sizes.max() == 1:
            warnings.warn(
                f"every group has size 1 ({len(members.sizes)} groups): no rollout has a baseline, so all "
                "advantages are 0; group ids must be shared by the rollouts of one prompt",
                GroupWarning,
                stacklevel=3,
            )
        grouped = members.gather(values)
        if len(grouped) == 0:
            return cls(members, grouped, len(values))
        # Subtracting a member first keeps the mean exact for rewards with a large common offset.
        shifted = grouped - members.spread(np.minimum.reduceat(grouped, members.starts))
        mean = np.add.reduceat(shifted, members.starts) / members.sizes
        deviation = shifted - members.spread(mean)
        tied = np.maximum.reduceat(shifted, members.starts) == 0
        return cls(members, np.where(members.spread(tied) > 0, 0.0, deviation), len(values))

    def per_group(self, values: FloatArray) -> FloatArray:
        """Sum per-row values (in group order) over each group."""
        return np.add.reduceat(values, self.groups.starts) if len(values) else values

    def largest(self) -> FloatArray:
        """Return the largest deviation of each group, in magnitude."""
        return (
            np.maximum.reduceat(np.abs(self.deviation), self.groups.starts) if len(self.deviation) else self.deviation
        )

    def rows(self, values: FloatArray) -> FloatArray:
        """Return values in the order of the rows given; unscorable rows get 0."""
        return self.groups.scatter(values, self.size)


def signal(outcomes: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> npt.NDArray[np.bool_]:
    """Say for every row whether its group carries signal: largest outcome > smallest outcome.

    Compared in float64 and exactly, never by a standard deviation, whose rounding makes signal out of
    equal rewards. Rows with NaN, None or infinite outcomes are left out and get False.

    Args:
        outcomes: (N,) the verifier's outcomes, or rewards where there is no verifier.
        groups: (N,) labels or None for one group.

    Returns:
        bool (N,).

    Complexity: O(N), plus a stable sort when rows do not lie group by group.
    """
    values = as_rewards(outcomes)
    members = Groups.of(groups, len(values), scorable(values))
    grouped = members.gather(values)
    if len(grouped) == 0:
        return np.zeros(len(values), bool)
    varied = np.maximum.reduceat(grouped, members.starts) > np.minimum.reduceat(grouped, members.starts)
    return members.scatter(members.spread(varied), len(values)) > 0


class Part(Protocol):
    """What a recipe takes as its advantage: `Advantage`, or an object of its own with settings.

    ``needs`` may name columns, which are then given as keyword arguments; see `winnow.columns`. A part that cannot take
    every reward has a method ``check_told(rewards, **columns)`` as well: `winnow.step.Step.tell` asks it of each piece
    before it records it, so that what was generated is not lost at the end of the step.
    """

    @property
    def name(self) -> str:
        """The rule's name, for logs."""
        ...

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, /, *args: Any, **columns: Any) -> FloatArray:
        """Return one advantage per row (N,); rows whose reward is not finite get 0 and enter no statistic."""
        ...


@dataclass(frozen=True, slots=True)
class Advantage:
    """An advantage rule with its options, as a recipe holds it.

    Attributes:
        rule: a name in `RULES` or a function ``(rewards, groups) -> advantages``.
        ddof: for ``grpo``: 1 divides by the sample standard deviation (TRL, verl), 0 by the population's.
        eps: for ``grpo``: added to the standard deviation (TRL 1e-4, verl 1e-6).
    """

    rule: str | AdvantageRule = "grpo"
    ddof: int = 1
    eps: float = 1e-4

    def __post_init__(self) -> None:
        if isinstance(self.rule, str) and self.rule not in RULES:
            raise unknown("advantage", self.rule, RULES)
        if self.ddof not in (0, 1):
            raise ConfigError(f"ddof={self.ddof!r}: use 1 (sample) or 0 (population)")
        if not isinstance(self.eps, int | float) or not 0 <= self.eps < np.inf:
            raise ConfigError(f"eps={self.eps!r}: use a number >= 0")
        if not isinstance(self.rule, str) and not callable(self.rule):
            raise ConfigError(f"advantage={self.rule!r}: use a name ({', '.join(RULES)}) or a function")

    @property
    def name(self) -> str:
        """The rule's name, for logs."""
        return self.rule if isinstance(self.rule, str) else getattr(self.rule, "__name__", repr(self.rule))

    @property
    def own_signal(self) -> bool:
        """Whether the rule learns from groups of equal rewards (it says so with ``own_signal = True``)."""
        return bool(getattr(RULES[self.rule] if isinstance(self.rule, str) else self.rule, "own_signal", False))

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that the rule takes beside rewards, see `winnow.columns`."""
        return needed(RULES[self.rule] if isinstance(self.rule, str) else self.rule)

    def check_told(self, rewards: npt.ArrayLike, **columns: npt.ArrayLike) -> None:
        """Refuse what the rule cannot take, see `winnow.advantage.ranges`."""
        check_told(RULES[self.rule] if isinstance(self.rule, str) else self.rule, rewards, columns)

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, **columns: npt.ArrayLike) -> FloatArray:
        """Return one advantage per row."""
        if not isinstance(self.rule, str):
            return self.rule(rewards, groups, **columns)
        options = {"ddof": self.ddof, "eps": self.eps} if self.rule == "grpo" else {}
        return RULES[self.rule](rewards, groups, **options, **columns)
