"""One step as a conversation: it says what to draw next, is told what came back, and ends in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from winnow.allocation.base import NOTHING, Grant
from winnow.batch import TrainBatch, funnel
from winnow.budget import Budget
from winnow.errors import BudgetError, ConfigError
from winnow.groups import FloatArray, IntArray, as_rewards
from winnow.observed import Observed

if TYPE_CHECKING:
    from winnow.recipe import Recipe


class Requests(Sequence[tuple[int, int]]):
    """What to draw: pairs ``(prompt index, count)``, in the order in which to start them.

    Attributes:
        prompts: int64 (k,) prompt indices.
        counts: int64 (k,) rollouts of each, all positive.
    """

    def __init__(self, prompts: IntArray, counts: IntArray) -> None:
        self.prompts = prompts
        self.counts = counts

    @property
    def total(self) -> int:
        """Rollouts asked for."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        """Return the number of pairs; 0 means: tell results first, or the step is done."""
        return len(self.prompts)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Requests: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | Requests:
        """Return one pair, or a slice."""
        if isinstance(index, slice):
            return Requests(self.prompts[index], self.counts[index])
        return int(self.prompts[index]), int(self.counts[index])

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Go through the pairs."""
        return zip(self.prompts.tolist(), self.counts.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence of pairs."""
        return isinstance(other, Sequence) and list(self) == [tuple(pair) for pair in other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the pairs."""
        return repr(list(self))


class Step:
    """One step of a recipe; made by `Recipe.begin`.

    Invariants: `ask` never hands out more than the budget has left; every rollout handed out is told once;
    the result does not depend on the order of telling, but for which of equal rewards counts as first.
    """

    def __init__(self, recipe: Recipe, prompts: int, budget: Budget, seed: int) -> None:
        self.recipe = recipe
        self.budget = budget
        self.seen = Observed(prompts)
        self._rng = np.random.default_rng(seed)
        self._allocator = recipe.allocation.begin(prompts, budget.rollouts, self._rng)
        self._pending: Grant = NOTHING
        self._asked = self._granted = self._told = self._tokens = self._waves = 0
        self._out: IntArray = np.zeros(prompts, np.int64)
        self._chunks: list[tuple[IntArray, FloatArray, FloatArray, IntArray]] = []

    @property
    def in_flight(self) -> int:
        """Rollouts handed out and not told yet."""
        return self._asked - self._told

    @property
    def done(self) -> bool:
        """True once every rollout is told and nothing is left to ask for."""
        if self.in_flight:
            return False
        if self._room() == 0:
            return True
        self._refill()
        return not self._pending and self._allocator.finished

    def ask(self, limit: int | None = None) -> Requests:
        """Return what to draw next.

        Args:
            limit: the most rollouts to hand out now (free slots of the sampler); None for all there are.

        Returns:
            Requests; empty when results have to be told first, or when the step is done.

        Raises:
            ConfigError: if limit is negative.

        Complexity: that of the allocation rule, plus O(length of the answer).
        """
        if limit is not None and limit < 0:
            raise ConfigError(f"ask(limit={limit}): use a number >= 0, or None for no limit")
        parts: list[Grant] = []
        room = self._room() if limit is None else min(limit, self._room())
        while room > 0:
            self._refill()
            if not self._pending:
                break
            part, self._pending = _split(self._pending, room)
            taken = int(part.counts.sum())
            room -= taken
            self._asked += taken
            np.add.at(self._out, part.prompts, part.counts)
            parts.append(part)
        if not parts:
            return Requests(NOTHING.prompts, NOTHING.counts)
        self._waves += 1
        return Requests(
            np.concatenate([part.prompts for part in parts]), np.concatenate([part.counts for part in parts])
        )

    def _room(self) -> int:
        return self.budget.grantable(self._asked, self.in_flight, self._tokens)

    def _refill(self) -> None:
        if self._pending or self._allocator.finished:
            return
        left = None if self.budget.rollouts is None else self.budget.rollouts - self._granted
        self._pending = self._allocator.next(self.seen, left)
        self._granted += int(self._pending.counts.sum())
        np.add.at(self.seen.granted, self._pending.prompts, self._pending.counts)

    def tell(
        self,
        prompts: npt.ArrayLike,
        rewards: npt.ArrayLike,
        outcomes: npt.ArrayLike | None = None,
        tokens: npt.ArrayLike | None = None,
    ) -> None:
        """Report rollouts, in any order and in any parts.

        Args:
            prompts: int (k,) prompt index of each rollout.
            rewards: (k,) what is optimised; None, NaN and infinities are unscorable.
            outcomes: (k,) the verifier's verdict, on which signal is judged; None takes the rewards.
            tokens: int (k,) generated tokens of each; required under a token budget, else 0 when left out.

        Raises:
            ValueError: if lengths differ, or an index is no prompt of this step.
            BudgetError: if more rollouts of a prompt are told than were asked for, or tokens exceed the budget.
        """
        where = np.atleast_1d(np.asarray(prompts, dtype=np.int64))
        scores = as_rewards(np.atleast_1d(np.asarray(rewards, dtype=np.float64))).astype(np.float64)
        verdicts = scores
        if outcomes is not None:
            verdicts = np.where(np.isfinite(scores), np.atleast_1d(np.asarray(outcomes, dtype=np.float64)), np.nan)
        if tokens is None and self.budget.tokens is not None:
            raise ConfigError("a token budget needs tell(..., tokens=...): the generated tokens of each rollout")
        lengths = np.zeros(len(where), np.int64) if tokens is None else np.atleast_1d(np.asarray(tokens, np.int64))
        if not len(where) == len(scores) == len(verdicts) == len(lengths):
            raise ValueError(
                f"tell: {len(where)} prompts, {len(scores)} rewards, {len(verdicts)} outcomes and "
                f"{len(lengths)} tokens: all must have one entry per rollout"
            )
        if len(where) == 0:
            return
        self._check(where, lengths)
        self._out -= np.bincount(where, minlength=len(self.seen))
        self._told += len(where)
        self._tokens += int(lengths.sum())
        self._chunks.append((where, scores, verdicts, lengths))
        self.seen.add(where, verdicts if self.recipe.signal == "outcome" else scores)
        self._allocator.hear(where, self.seen)

    def _check(self, where: IntArray, lengths: IntArray) -> None:
        size = len(self.seen)
        if where.min() < 0 or where.max() >= size:
            wrong = where[(where < 0) | (where >= size)][0]
            raise ValueError(f"tell: prompt {wrong} is not in this step, which has prompts 0 to {size - 1}")
        surplus = np.bincount(where, minlength=size) - self._out
        if (surplus > 0).any():
            prompt = int(surplus.argmax())
            raise BudgetError(
                f"tell: {surplus[prompt]} more rollouts of prompt {prompt} than were asked for; "
                "draw only what ask() returns and tell each rollout once"
            )
        self.budget.check(self._tokens + int(lengths.sum()), int(lengths.max()))

    def finish(self) -> TrainBatch:
        """Gate, select and weigh what came back.

        Raises:
            ConfigError: if rollouts are still in flight.
        """
        if self.in_flight:
            raise ConfigError(
                f"finish: {self.in_flight} rollouts asked for were not told; tell them, with reward None for lost ones"
            )
        reason = self._allocator.reason if self._room() > 0 else ""
        if self.budget.tokens is not None and not reason and self._tokens < self.budget.tokens:
            reason = (
                f"{self.budget.tokens - self._tokens} tokens are left, fewer than one rollout of at most "
                f"{self.budget.longest} may need"
            )
        told = [np.concatenate(column) for column in zip(*self._chunks, strict=True)] if self._chunks else None
        return funnel(self.recipe, self.seen, told, self._rng, waves=self._waves, reason=reason)


def _split(grant: Grant, room: int) -> tuple[Grant, Grant]:
    """Cut a grant after ``room`` rollouts."""
    ends = np.cumsum(grant.counts)
    if ends[-1] <= room:
        return grant, NOTHING
    cut = int(np.searchsorted(ends, room))
    over = int(ends[cut]) - room
    first, rest = grant.counts[: cut + 1].copy(), grant.counts[cut:].copy()
    first[-1] -= over
    rest[0] = over
    return Grant(grant.prompts[: cut + 1], first), Grant(grant.prompts[cut:], rest)
