"""A log of rollouts as columns, grouped by step and prompt: all that a replay keeps in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.errors import DataError
from winnow.groups import FloatArray, IntArray

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class Log:
    """Rollouts in order of step and prompt; a *visit* is a prompt in a step, its rollouts lie side by side.

    Attributes:
        reward: float64 (N,), NaN where unscorable.
        judged: float64 (N,), what signal is judged on: the outcome where there is one, else the reward.
        tokens: int64 (N,), 0 throughout where ``unit`` is empty.
        start, size: int64 (V,), first rollout and number of rollouts of each visit.
        prompt: int64 (V,), which prompt it is, 0 to ``prompts - 1``.
        step: int64 (V,), ascending; a pilot has one step.
        unit: what ``tokens`` counts: ``tokens``, ``characters`` (no lengths were logged) or nothing.
        columns: further columns (N, ...) by name, see `winnow.columns`.
        texts: the text of every prompt, None where nobody asked for it or the log has none.
        notes: what a reader should know of how the log was read.
    """

    reward: FloatArray
    judged: FloatArray
    tokens: IntArray
    start: IntArray
    size: IntArray
    prompt: IntArray
    step: IntArray
    unit: str = "tokens"
    columns: Mapping[str, Labels] = field(default_factory=dict)
    texts: Sequence[str] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        prompts: npt.ArrayLike,
        rewards: npt.ArrayLike,
        tokens: npt.ArrayLike | None = None,
        outcomes: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        **facts: Any,
    ) -> Log:
        """Group columns.

        Args:
            prompts: (N,) whole numbers, equal for the rollouts of one prompt, in any order.
            rewards: (N,) floats; what is not finite is unscorable.
            tokens: (N,) generated tokens, or None.
            outcomes: (N,) verdicts, NaN where there is none, or None.
            steps: (N,) the step of training of each rollout, or None for one step.
            **facts: ``unit``, ``columns`` (in the order given), ``texts`` (by prompt number), ``notes``.

        Raises:
            DataError: there is no rollout, lengths differ, or none can be scored.

        Complexity: O(N) when the rollouts lie visit by visit, else one stable sort.
        """
        owner, reward = np.asarray(prompts), np.asarray(rewards, np.float64)
        if not len(owner):
            raise DataError("the log holds no rollouts")
        given = (reward, *(np.asarray(column) for column in (tokens, outcomes, steps) if column is not None))
        if any(column.shape != owner.shape for column in given):
            raise DataError(f"columns of a log differ in length: {[len(owner), *map(len, given)]}")
        when = None if steps is None else np.asarray(steps)
        order = _order(owner, when)
        # One column at a time, so that no more than one of them exists twice.
        owner = owner if order is None else owner[order]
        when = when if when is None or order is None else when[order]
        start = _starts(owner, when)
        # A column that has to change is copied once: the caller's stays as it is.
        reward = reward if order is None else reward[order]
        finite = np.isfinite(reward)
        if not finite.any():
            raise DataError(f"not one of the {len(reward):,} rollouts of the log has a reward")
        if not finite.all():
            reward = np.where(finite, reward, np.nan)
        judged = reward
        if outcomes is not None:
            verdict = np.asarray(outcomes, np.float64)
            verdict = verdict if order is None else verdict[order]
            judged = np.where(np.isfinite(verdict) & finite, verdict, reward)
        lengths = np.zeros(len(owner), np.int64)
        if tokens is not None:
            lengths = np.asarray(tokens, np.int64) if order is None else np.asarray(tokens, np.int64)[order]
        columns = facts.pop("columns", {})
        names, prompt = _numbered(owner[start])
        if facts.get("texts") is not None and len(facts["texts"]) != names:
            raise DataError(f"{len(facts['texts'])} texts for {names} prompts")
        return cls(
            reward=reward,
            judged=judged,
            tokens=lengths,
            start=start,
            size=np.diff(start, append=len(owner)),
            prompt=prompt,
            step=np.zeros(len(start), np.int64) if when is None else when[start].astype(np.int64),
            unit=facts.pop("unit", "tokens" if tokens is not None else ""),
            columns={name: column if order is None else column[order] for name, column in columns.items()},
            **facts,
        )

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self.reward)

    @property
    def visits(self) -> int:
        """How many visits there are."""
        return len(self.start)

    @property
    def prompts(self) -> int:
        """How many different prompts there are."""
        return int(self.prompt.max()) + 1

    @property
    def ends(self) -> IntArray:
        """int64 (S,): where the visits of each step end."""
        return np.append(np.flatnonzero(np.diff(self.step)) + 1, self.visits)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        shared = 0 if self.judged is self.reward else self.judged.nbytes
        small = (self.start, self.size, self.prompt, self.step)
        return self.reward.nbytes + shared + self.tokens.nbytes + sum(column.nbytes for column in small)


def _order(owner: Labels, when: Labels | None) -> IntArray | None:
    """Return the order by step and prompt, or None where rollouts are in it already."""
    if when is None:
        grouped = bool((owner[1:] >= owner[:-1]).all())
        return None if grouped else np.argsort(owner, kind="stable")
    later = when[1:] > when[:-1]
    if bool((later | ((when[1:] == when[:-1]) & (owner[1:] >= owner[:-1]))).all()):
        return None
    return np.lexsort((owner, when)).astype(np.int64, copy=False)


def _starts(owner: Labels, when: Labels | None) -> IntArray:
    new = owner[1:] != owner[:-1]
    if when is not None:
        new |= when[1:] != when[:-1]
    return np.concatenate(([0], np.flatnonzero(new) + 1)).astype(np.int64, copy=False)


def _numbered(owner: Labels) -> tuple[int, IntArray]:
    names, numbers = np.unique(owner, return_inverse=True)
    return len(names), numbers.astype(np.int64, copy=False).reshape(-1)
