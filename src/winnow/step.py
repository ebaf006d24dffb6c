"""One step as a conversation: it says what to draw next, is told what came back, and ends in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from winnow.advantage.ranges import check_told
from winnow.allocation.base import NOTHING, Branches, Grant
from winnow.batch import TrainBatch, funnel
from winnow.budget import Budget
from winnow.candidates import Candidates
from winnow.columns import Columns
from winnow.errors import BudgetError, ConfigError
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed
from winnow.opened import Opened
from winnow.requests import Pending, Requests
from winnow.told import LONGEST, Scores, scores_of, whole
from winnow.tree import Fork, Tree

if TYPE_CHECKING:
    from winnow.recipe import Recipe


class Step:
    """One step of a recipe; made by `Recipe.begin`.

    ``seen`` is over the prompts that the curriculum opened, everything else over the candidates given.

    Invariants: `ask` never hands out more than the budget has left; every rollout handed out is told once. The order of
    telling decides which row has which number, hence which of equal rewards counts as first and what a random
    selection picks; beyond that it changes nothing but the last bits of a variance.
    """

    def __init__(self, recipe: Recipe, candidates: Candidates, budget: Budget | None, seed: int) -> None:
        self.recipe = recipe
        self._rng = np.random.default_rng(seed)
        self._opened = Opened.of(candidates, recipe.curriculum, self._rng)
        size = len(self._opened)
        self.budget = budget or Budget(rollouts=recipe.counted(size) * recipe.allocation.n)
        self.seen = Observed(size)
        self._tree = Tree(size)
        plan, self._branches = recipe.allocation, recipe.branches
        given = self._opened.prompts, self.budget.rollouts, self._rng
        self._allocator = plan.grow(*given, self._tree) if isinstance(plan, Branches) else plan.begin(*given)
        self._pending = Pending(NOTHING)
        self._asked = self._granted = self._told = self._tokens = self._waves = 0
        self._out: IntArray = np.zeros(size, np.int64)
        self._chunks: list[tuple[IntArray, FloatArray, FloatArray, IntArray]] = []
        self._columns = Columns(recipe.needs, recipe.name, recipe.wants)
        self._batch: TrainBatch | None = None

    @property
    def in_flight(self) -> int:
        """Rollouts handed out and not told yet."""
        return self._asked - self._told

    @property
    def done(self) -> bool:
        """True once every rollout is told and nothing is left to ask for."""
        if self.in_flight or self._room() == 0:
            return not self.in_flight
        self._refill()
        return not self._pending and self._allocator.finished

    def ask(self, limit: int | None = None) -> Requests:
        """Return what to draw next.

        Args:
            limit: the most rollouts to hand out now (free slots of the sampler); None for all there are.

        Returns:
            Requests; empty when results have to be told first, or when the step is done.

        Raises:
            ConfigError: if limit is negative or not whole.

        Complexity: that of the allocation rule, plus O(length of the answer).
        """
        if limit is not None and (not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0):
            raise ConfigError(f"ask(limit={limit!r}): use a whole number >= 0, or None for no limit")
        parts: list[Grant] = []
        room = self._room() if limit is None else min(limit, self._room())
        while room > 0:
            self._refill()
            if not self._pending:
                break
            part = self._pending.take(room)
            taken = int(part.counts.sum())
            room -= taken
            self._asked += taken
            np.add.at(self._out, part.prompts, part.counts)
            parts.append(part)
        if not parts:
            return Requests(NOTHING.prompts, NOTHING.counts)
        self._waves += 1
        local = np.concatenate([part.prompts for part in parts])
        return Requests(self._opened.outside(local), np.concatenate([part.counts for part in parts]))

    def _room(self) -> int:
        return self.budget.grantable(self._asked, self.in_flight, self._tokens)

    def _refill(self) -> None:
        if self._pending or self._allocator.finished:
            return
        left = None if self.budget.rollouts is None else self.budget.rollouts - self._granted
        grant = self._allocator.next(self.seen, left)
        self._pending = Pending(grant)
        if new := len(self.seen) + len(self._tree.forks) - len(self._out):
            self._out = np.pad(self._out, (0, new))
        self._granted += int(grant.counts.sum())
        np.add.at(self.seen.granted, self._tree.root(grant.prompts), grant.counts)

    def tell(
        self,
        prompts: npt.ArrayLike,
        rewards: Scores,
        outcomes: Scores | None = None,
        tokens: npt.ArrayLike | None = None,
        **columns: Sequence[Any] | npt.ArrayLike,
    ) -> None:
        """Report rollouts, in any order and in any parts.

        Args:
            prompts: int (k,) prompt index of each rollout.
            rewards: (k,) what is optimised; None, NaN and infinities are unscorable.
            outcomes: (k,) the verifier's verdict, on which signal is judged; where there is none (None or NaN, for all
                or for single rollouts) the reward takes its place.
            tokens: int (k,) generated tokens of each; required under a token budget, else 0 when left out.
            **columns: what the recipe ``needs`` beyond that, each (k, ...); see `winnow.columns.COLUMNS`.

        Raises:
            ValueError: if lengths differ, an index is no prompt of this step, a number that has to be whole is not,
                tokens are negative, or a reward exceeds 1e150 in magnitude.
            ConfigError: if a token budget is told no tokens, a column that the recipe needs is missing, the advantage
                cannot take a reward, or the step is finished. What was refused may be told again, put right.
            BudgetError: if more rollouts of a prompt are told than were asked for, or tokens exceed the budget.

        Complexity: O(k log k), plus that of the allocation rule.
        """
        if self._batch is not None:
            raise ConfigError("tell: the step is finished; begin a new one")
        where = whole(prompts, "prompts")
        scores = scores_of(rewards, "rewards")
        verdicts = scores if outcomes is None else scores_of(outcomes, "outcomes")
        if tokens is None and self.budget.tokens is not None:
            raise ConfigError("a token budget needs tell(..., tokens=...): the generated tokens of each rollout")
        lengths = np.zeros(len(where), np.int64) if tokens is None else whole(tokens, "tokens")
        if self._branches and (tokens is None or lengths.min(initial=1) < 1):
            raise ConfigError(
                f"recipe {self.recipe.name!r} cuts rollouts by length: give tell(..., tokens=...), each at least 1"
            )
        if not len(where) == len(scores) == len(verdicts) == len(lengths):
            raise ValueError(
                f"tell: {len(where)} prompts, {len(scores)} rewards, {len(verdicts)} outcomes and "
                f"{len(lengths)} tokens: all must have one entry per rollout"
            )
        if len(where) == 0:
            return
        further = self._columns.check(len(where), columns)
        where = self._opened.inside(where, len(self._tree.forks))
        self._check(where, lengths)
        verdicts = np.where(np.isnan(verdicts) | ~np.isfinite(scores), scores, verdicts)
        check_told(self.recipe.advantage, scores, {**further, "lengths": lengths, "outcomes": verdicts})
        np.subtract.at(self._out, where, 1)
        self._told += len(where)
        self._tokens += int(lengths.sum())
        roots = self._tree.root(where)
        if self._branches:
            self._tree.add(where, verdicts, lengths)
        self._chunks.append((roots, scores, verdicts, lengths))
        self._columns.add(further)
        self.seen.add(roots, verdicts if self.recipe.signal == "outcome" else scores)
        self._allocator.hear(roots, self.seen)

    def _check(self, where: IntArray, lengths: IntArray) -> None:
        told, counts = np.unique(where, return_counts=True)
        surplus = counts - self._out[told]
        if (surplus > 0).any():
            worst = int(surplus.argmax())
            raise BudgetError(
                f"tell: {surplus[worst]} more rollouts of prompt {self._opened.outside(told)[worst]} than asked for; "
                "draw only what ask() returns and tell each rollout once"
            )
        if lengths.min() < 0 or lengths.max() > LONGEST:
            wrong = lengths.min() if lengths.min() < 0 else lengths.max()
            raise ValueError(f"tell: tokens={wrong}: a rollout has 0 to {LONGEST} tokens")
        self.budget.check(self._tokens + int(lengths.sum()), int(lengths.max()))

    def fork(self, number: int) -> Fork | None:
        """Return what a number of `ask` continues, or None where it stands for a prompt.

        Only recipes that branch (`Recipe.branches`) ask for continuations. The rollout named is a position in the
        order told, its ``cut`` counts its own tokens. The continuation is told under the same number, and its
        ``tokens`` are its own.
        """
        place = number - self._opened.candidates
        return None if place < 0 else self._tree.forks[place]

    def finish(self) -> TrainBatch:
        """Gate, select and weigh what came back, and tell the rules that remember; called again: the same batch.

        Raises:
            ConfigError: if rollouts are still in flight.
        """
        if self._batch is not None:
            return self._batch
        if self.in_flight:
            raise ConfigError(
                f"finish: {self.in_flight} rollouts asked for were not told; tell them, with reward None for lost ones"
            )
        told = [np.concatenate(column) for column in zip(*self._chunks, strict=True)] if self._chunks else None
        recall, columns = self.recipe.recall, self._columns.joined()
        local = funnel(
            self.recipe,
            self.seen,
            told,
            self._rng,
            reason=self._why_left(),
            columns=columns,
            tree=self._tree if self._branches else None,
            recalled=recall.recall(self._opened.prompts.ids, self.seen, self._rng) if recall else None,
            prompt_weights=self._opened.weights,
            allocator=self._allocator,
            waves=self._waves,
        )
        self.recipe.observe(self._opened.feedback(local, self.seen, told, columns.get("entropy")))
        self._batch = self._opened.widened(local)
        if recall and told:
            handles, dropped = recall.keep(self._opened.prompts.ids, told[0], told[1])
            self._batch = replace(self._batch, handles=handles, dropped=dropped)
        return self._batch

    def _why_left(self) -> str:
        """Say why budget is left over; an empty string if none is."""
        rollouts, tokens = self.budget.rollouts, self.budget.tokens
        left = rollouts - self._asked if rollouts is not None else (tokens or 0) - self._tokens
        if left <= 0:
            return ""
        if not self.done:
            return f"finish() was called with {left} {'rollouts' if rollouts is not None else 'tokens'} left to ask for"
        if self._room() > 0:
            return self._allocator.reason
        return f"{left} tokens are left, fewer than one rollout of at most {self.budget.longest} may need"
