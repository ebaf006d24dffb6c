"""The seam between a step and an allocation rule, and the arithmetic that rules share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from winnow.candidates import Candidates
from winnow.decisions import Decisions
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed
from winnow.tree import Tree

MOST = 2**20
"""Upper end of every setting that counts something: more is a slip of the pen, and tables of it fill the memory."""

RULES: dict[str, Callable[..., Allocation]] = {}


@dataclass(frozen=True, slots=True)
class Grant:
    """Rollouts to draw: ``counts[i]`` for ``prompts[i]`` (int64 arrays of one length, each prompt once).

    Numbers that `winnow.tree.Tree.fork` returned stand for continuations of a rollout.
    """

    prompts: IntArray
    counts: IntArray

    def __bool__(self) -> bool:
        """Say whether anything is granted."""
        return len(self.prompts) > 0


NOTHING = Grant(np.zeros(0, np.int64), np.zeros(0, np.int64))


class Allocator(Protocol):
    """One step's decisions.

    Attributes:
        finished: no further call to `next` can grant anything.
        reason: why it stopped with budget left, or an empty string.
    """

    finished: bool
    reason: str

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return what to draw next; an empty grant means: wait for results, or `finished`.

        Args:
            seen: everything observed in this step.
            left: rollouts not granted yet; None under a token budget, where the step cuts the grant off.
        """
        ...

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Take note that rollouts of ``prompts`` came back (``seen`` already includes them)."""
        ...


@runtime_checkable
class Explains(Protocol):
    """An allocator that says why prompts got what they got."""

    def explain(self, seen: Observed) -> Decisions:
        """Return the reasons, over the prompts that got rollouts; asked once, when the step is over."""
        ...


@runtime_checkable
class Branches(Protocol):
    """An allocation whose rollouts may continue others; hosts that cannot do that refuse it."""

    def grow(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator, tree: Tree) -> Allocator:
        """Start a step, as `Allocation.begin` does, with the tree that its grants may fork."""
        ...


class Allocation(Protocol):
    """An allocation rule with its settings, as a recipe holds it.

    Attributes:
        barrier: True if the rule waits for whole rounds, so that hosts gain nothing by streaming.
    """

    @property
    def barrier(self) -> bool:
        """Whether results are used only once a whole round is in."""
        ...

    @property
    def n(self) -> int:
        """Mean rollouts per prompt that the settings amount to."""
        ...

    @property
    def largest(self) -> int:
        """The most rollouts one prompt can get under a budget of ``n`` per prompt and many prompts."""
        ...

    def with_n(self, n: int) -> Self:
        """Return the same rule scaled to a mean of n rollouts per prompt."""
        ...

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step over these prompts with a budget of ``rollouts`` (None: a token budget)."""
        ...


def check_count(owner: str, name: str, value: int, least: int) -> None:
    """Raise `ConfigError` unless value is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ConfigError(f"{owner}({name}={value!r}): use a whole number >= {least}")
    if value > MOST:
        raise ConfigError(f"{owner}({name}={value}): use a whole number from {least} to {MOST}")


def share_out(total: int, order: IntArray) -> Grant:
    """Split ``total`` rollouts evenly over prompts, the remainder going to the first in ``order``."""
    each, extra = divmod(total, len(order))
    counts = np.full(len(order), each, np.int64)
    counts[:extra] += 1
    granted = counts > 0
    return Grant(order[granted], counts[granted])


def highest(scores: FloatArray, k: int, rank: IntArray) -> IntArray:
    """Return the positions of the k highest scores; among equal scores those of lowest ``rank`` win.

    Complexity: O(len(scores)) expected: a partial sort finds the cut, only ties at the cut are sorted.
    """
    if k >= len(scores):
        return np.arange(len(scores))
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = scores > cut
    tied = np.flatnonzero(scores == cut)
    needed = k - int(np.count_nonzero(above))
    if needed < len(tied):
        tied = tied[np.argpartition(rank[tied], needed - 1)[:needed]]
    above[tied] = True
    return np.flatnonzero(above)
