"""In which order visits come before a recipe, and how they are cut into steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow.budget import Budget
from winnow.groups import IntArray
from winnow.recipe import Recipe
from winnow.replay.log import Log


@dataclass(frozen=True)
class Visits:
    """A sequence of visits.

    Attributes:
        visit: int64 (K,) positions among the visits of the log; may repeat.
        name: int64 (K,) what the prompt of each is called before a recipe. A prompt that was drawn twice by the
            bootstrap is two prompts, each with its own memory.
        ends: int64 (S,) where logged steps end; a pilot has one.
    """

    visit: IntArray
    name: IntArray
    ends: IntArray

    def __len__(self) -> int:
        """Return the number of visits."""
        return len(self.visit)


def as_logged(log: Log, rng: np.random.Generator, share: float = 1.0) -> Visits:
    """Return every visit once: steps in order, prompts within a step at random.

    Args:
        log: the log.
        rng: of the order.
        share: the part of the log to take, in (0, 1]: prompts where it has one step, steps where it has several.
    """
    order = rng.permutation(log.visits)
    if log.step[0] == log.step[-1]:
        order = order[: max(1, round(share * log.visits))]
        return Visits(order, log.prompt[order], np.array([len(order)]))
    if share < 1:
        number = np.repeat(np.arange(len(log.ends)), np.diff(log.ends, prepend=0))
        taken = rng.permutation(len(log.ends)) < max(1, round(share * len(log.ends)))
        order = order[taken[number[order]]]
    order = order[np.argsort(log.step[order], kind="stable")]
    return Visits(order, log.prompt[order], np.append(np.flatnonzero(np.diff(log.step[order])) + 1, len(order)))


def resampled(log: Log, rng: np.random.Generator, share: float) -> Visits:
    """Return a bootstrap sample: prompts with replacement, each with all of its visits.

    Args:
        log: the log.
        rng: of the sample.
        share: the part of the log to take, in (0, 1]: of its prompts where it has one step, of its steps, at random and
            in order, where it has several. Below 1 the sample varies more, by ``1 / sqrt(share)``.
    """
    prompts = log.prompts
    if log.step[0] == log.step[-1]:
        chosen = rng.integers(0, log.visits, max(1, round(share * log.visits)))
        return Visits(chosen, np.arange(len(chosen)), np.array([len(chosen)]))
    times = np.bincount(rng.integers(0, prompts, prompts), minlength=prompts)
    ends = log.ends
    steps = np.sort(rng.permutation(len(ends))[: max(1, round(share * len(ends)))])
    starts = np.concatenate(([0], ends[:-1]))
    visits = np.concatenate([np.arange(starts[step], ends[step]) for step in steps])
    counts = times[log.prompt[visits]]
    copies = np.repeat(visits, counts)
    copy = np.arange(len(copies)) - np.repeat(np.cumsum(counts) - counts, counts)
    by_step = np.cumsum(np.add.reduceat(counts, np.cumsum((ends - starts)[steps]) - (ends - starts)[steps]))
    # Shuffled within a step, since the copies of a prompt would else stand side by side.
    order = np.lexsort((rng.random(len(copies)), log.step[copies]))
    return Visits(copies[order], (log.prompt[copies] + prompts * copy)[order], by_step)


@dataclass(frozen=True)
class Shape:
    """The size of a replayed step.

    Attributes:
        prompts: prompts per step; None takes the steps as they were logged.
        rollouts, tokens: what a full step may generate; None for both takes the recipe's n per prompt.
        longest: tokens that a rollout reserves under a token budget.
    """

    prompts: int | None
    rollouts: int | None = None
    tokens: int | None = None
    longest: int | None = None

    def budget(self, visits: int, wanted: int) -> Budget | None:
        """Return the budget of a step with ``visits`` candidates where a full one has ``wanted``."""
        scale = visits / wanted
        if self.rollouts is not None:
            return Budget(rollouts=max(2, round(self.rollouts * scale)))
        if self.tokens is not None:
            assert self.longest is not None
            return Budget(tokens=max(self.longest, round(self.tokens * scale)), longest=self.longest)
        return None


class Stream:
    """Hands out the candidates of one step after the other.

    A recipe that keeps spare prompts is given those of the steps that follow, as a host would give it further ones;
    what it did not look at comes first next time. The last candidates, too few for spares, are left out.

    Args:
        visits: what to go through.
        recipe: says how many candidates it wants per prompt.
        prompts: prompts per step; None takes logged steps, for recipes without spares.
        usual: prompts of a logged step, where ``prompts`` is None and the recipe keeps spares.
    """

    def __init__(self, visits: Visits, recipe: Recipe, prompts: int | None, usual: int) -> None:
        self._visits = visits
        self._at = 0
        self._spares = recipe.pool > 1
        self._ends = visits.ends if prompts is None and not self._spares else None
        self.wanted = max(1, min((prompts or usual) * recipe.pool, len(visits)))

    def next(self) -> slice | None:
        """Return the candidates of the next step; None when there are no more."""
        left = len(self._visits) - self._at
        if self._ends is not None:
            if not left:
                return None
            return slice(self._at, int(self._ends[np.searchsorted(self._ends, self._at, side="right")]))
        if left < (self.wanted if self._spares else 1):
            return None
        window = slice(self._at, min(self._at + self.wanted, len(self._visits)))
        names, first = np.unique(self._visits.name[window], return_index=True)
        if len(names) < window.stop - window.start:
            # The same prompt again belongs to a later step.
            repeated = np.ones(window.stop - window.start, bool)
            repeated[first] = False
            return slice(self._at, self._at + int(repeated.argmax()))
        return window

    def share(self, candidates: int) -> float:
        """Return what part of a full step these candidates make; a logged step is one, whatever its size."""
        return 1.0 if self._ends is not None else candidates / self.wanted

    def visited(self, window: slice, count: int) -> None:
        """Go on behind the candidates of a step: behind the ``count`` that were looked at, where there are spares."""
        # At least one, or a replay would never end.
        self._at = window.start + max(1, count) if self._spares else window.stop
