"""What every selection rule shares: the result, the meaning of m, and the walk over ragged groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from winnow.columns import needed
from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray, Groups, IntArray, as_rewards, scorable

BlockRule = Callable[[FloatArray, int], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows to train on.

    Attributes:
        rows: sorted, unique int64 positions into the rewards given.
        weights: float64, one per row; 1 unless the rule corrects for its own sampling.
    """

    rows: IntArray
    weights: FloatArray


class SelectionRule(Protocol):
    """A rule that keeps m of n: see `winnow.selection.max_variance` for the contract."""

    def __call__(
        self,
        rewards: npt.ArrayLike,
        m: int | float,
        groups: npt.ArrayLike | None = None,
        *,
        seed: int | np.random.Generator | None = None,
        **columns: npt.ArrayLike,
    ) -> Selection:
        """Return the kept rows. ``columns`` are those the rule declares with `winnow.columns.needs`, each (N, ...)."""
        ...


RULES: dict[str, Callable[..., Selection]] = {}


PARTS: dict[str, Callable[[], Part]] = {}
"""Selections with settings of their own, by name."""


def register(rule: Callable[..., Selection]) -> Callable[..., Selection]:
    """Make a rule available by its function name in recipes (a decorator)."""
    RULES[rule.__name__] = rule
    return rule


def rows_to_keep(m: int | float, n: int) -> int:
    """Return how many of n rollouts m stands for.

    An int is a number of rows (at most n); a float is a fraction of the group, ``floor(m n + 1e-9)``
    (so that 10 * (1 - 0.9) is 1), and at least 1.
    """
    if isinstance(m, float):
        return max(1, math.floor(m * n + 1e-9))
    return min(m, n)


def check_m(m: int | float) -> int | float:
    """Return m as int or float.

    Raises:
        ConfigError: if it is neither a positive integer nor a fraction in (0, 1].
    """
    if isinstance(m, int | np.integer) and not isinstance(m, bool) and m >= 1:
        return int(m)
    if isinstance(m, float | np.floating) and 0 < m <= 1:
        return float(m)
    raise ConfigError(f"m={m!r}: use a number of rows (an int >= 1) or a fraction of each group (0 < m <= 1.0)")


def select_by_block(
    rule: BlockRule,
    rewards: npt.ArrayLike,
    m: int | float,
    groups: npt.ArrayLike | None,
    seed: int | np.random.Generator | None,
) -> Selection:
    """Apply a rule for equally large groups to ragged ones.

    Args:
        rule: from values (g, n) and m < n, a mask (g, n) with exactly m True in every row. Among equal
            values it must prefer the leftmost.
        rewards: (N,) floats; NaN, None and infinite rewards are unscorable and never kept.
        m: see `rows_to_keep`; a group with m or fewer scorable rollouts keeps all of them.
        groups: (N,) labels or None.
        seed: None keeps rows in their order, so that ties fall to the lowest position; a seed shuffles
            the rows first, so that ties fall at random.
    """
    values = as_rewards(rewards)
    m = check_m(m)
    rows = scorable(values)
    if seed is not None:
        shuffled = np.random.default_rng(seed).permutation(len(values) if rows is None else len(rows))
        rows = shuffled if rows is None else rows[shuffled]
    keep = np.zeros(len(values), bool)
    for members, n in Groups.of(groups, len(values), rows).blocks():
        count = rows_to_keep(m, n)
        if count == n:
            keep[members] = True
            continue
        mask = rule(values[members].reshape(-1, n).astype(np.float64, copy=False), count)
        if isinstance(members, slice):
            keep[members] = mask.reshape(-1)
        else:
            keep[members[mask]] = True
    chosen = np.flatnonzero(keep)
    return Selection(chosen, np.ones(len(chosen)))


def leftmost(candidates: npt.NDArray[np.bool_], quota: IntArray) -> npt.NDArray[np.bool_]:
    """Keep the first ``quota[i]`` True entries of column i of a mask (n, g); n runs over a group's rows."""
    counter = np.int8 if len(candidates) < 128 else np.int64
    rank = np.cumsum(candidates.view(np.int8), axis=0, dtype=counter)
    return candidates & (rank <= quota.astype(counter))


class Part(Protocol):
    """What a recipe takes as its selection: `Select`, or an object of its own with settings.

    ``needs`` may name columns, which are then given as keyword arguments; see `winnow.columns`.
    """

    @property
    def name(self) -> str:
        """The rule's name, for logs."""
        ...

    @property
    def m(self) -> int | float:
        """Rows kept per group, a number or a fraction; what `winnow.plan` counts with."""
        ...

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, /, *args: Any, **columns: Any
    ) -> Selection:
        """Return the kept rows of rewards (N,) in groups (N,)."""
        ...


@dataclass(frozen=True, slots=True)
class Select:
    """A selection rule with its m, as a recipe holds it.

    Attributes:
        rule: a name in `RULES` or a function with the same signature.
        m: rows kept per group: a number, or a fraction of the group as a float.
        ties: ``"index"`` (lowest position first) or ``"random"`` (by the seed of the step).
    """

    rule: str | Callable[..., Selection] = "all_rows"
    m: int | float = 1.0
    ties: str = "index"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", check_m(self.m))
        if isinstance(self.rule, str) and self.rule not in RULES:
            raise unknown("selection", self.rule, RULES)
        if not isinstance(self.rule, str) and not callable(self.rule):
            raise ConfigError(f"selection={self.rule!r}: use a name ({', '.join(RULES)}) or a function")
        if self.ties not in ("index", "random"):
            raise unknown("ties", self.ties, ("index", "random"))

    @property
    def name(self) -> str:
        """The rule's name, for logs."""
        return self.rule if isinstance(self.rule, str) else getattr(self.rule, "__name__", repr(self.rule))

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that the rule takes beside rewards, see `winnow.columns`."""
        return needed(self._function)

    @property
    def _function(self) -> Callable[..., Selection]:
        return RULES[self.rule] if isinstance(self.rule, str) else self.rule

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, **columns: npt.ArrayLike
    ) -> Selection:
        """Apply the rule; ``rng`` is drawn from only by rules and tie rules that are random."""
        seeded = self.ties == "random" or self.name == "random"
        return self._function(rewards, self.m, groups, seed=rng if seeded else None, **columns)
