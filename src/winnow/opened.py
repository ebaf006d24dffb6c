"""The prompts a step opens among its candidates, and the way between the two numberings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from winnow.batch import TrainBatch
from winnow.candidates import Candidates
from winnow.curriculum.base import Choice, Curriculum
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed


class Opened:
    """Inside a step prompts are numbered as opened, outside as candidates.

    Args:
        candidates: the prompts given to the step.
        choice: what the curriculum opened.
    """

    def __init__(self, candidates: Candidates, choice: Choice) -> None:
        self._given = candidates
        self.candidates = self._size = len(candidates)
        self._visited = min(choice.visited, self._size)
        self._places = choice.opened
        self._inverse: IntArray = np.full(self._size, -1, np.int64)
        self._inverse[choice.opened] = np.arange(len(choice.opened))
        self.prompts = candidates.pick(choice.opened)
        self.weights: FloatArray | None = choice.weights

    @classmethod
    def of(cls, candidates: Candidates, curriculum: Curriculum, rng: np.random.Generator) -> Opened:
        """Let a curriculum open one in ``oversample`` of the candidates."""
        wanted = max(1, len(candidates) // curriculum.oversample)
        return cls(candidates, curriculum.choose(candidates, wanted, rng))

    def __len__(self) -> int:
        """Return how many prompts are open."""
        return len(self._places)

    def outside(self, prompts: IntArray) -> IntArray:
        """Return the candidates behind open prompts; numbers of forks follow those of the candidates."""
        forks = prompts >= len(self)
        if not forks.any():
            return self._places[prompts]
        return np.where(forks, prompts - len(self) + self._size, self._places[np.where(forks, 0, prompts)])

    def inside(self, candidates: IntArray, forks: int = 0) -> IntArray:
        """Return the open prompts behind candidates, and behind the numbers of ``forks`` forks.

        Raises:
            ValueError: if one is no candidate of this step, or was not opened.
        """
        if forks and (candidates >= self._size).any():
            beyond = candidates >= self._size
            if candidates.max() < self._size + forks:
                known = self.inside(candidates[~beyond]) if not beyond.all() else candidates[~beyond]
                prompts = candidates - self._size + len(self)
                prompts[~beyond] = known
                return prompts
        if candidates.min() < 0 or candidates.max() >= self._size:
            wrong = candidates[(candidates < 0) | (candidates >= self._size)][0]
            raise ValueError(f"tell: prompt {wrong} is not in this step, which has prompts 0 to {self._size - 1}")
        prompts = self._inverse[candidates]
        if prompts.min() < 0:
            raise ValueError(f"tell: prompt {candidates[prompts < 0][0]} was not opened: ask() never named it")
        return prompts

    def widened(self, batch: TrainBatch) -> TrainBatch:
        """Return a batch numbered by candidates."""
        counts, signal = np.zeros(self._size, np.int64), np.zeros(self._size, bool)
        counts[self._places], signal[self._places] = batch.counts, batch.signal
        recalled, decisions = batch.recalled, batch.decisions
        return replace(
            batch,
            prompts=self._places[batch.prompts],
            counts=counts,
            signal=signal,
            visited=self._seen(batch.counts),
            recalled=None if recalled is None else replace(recalled, prompts=self._places[recalled.prompts]),
            decisions=None if decisions is None else replace(decisions, prompts=self._places[decisions.prompts]),
        )

    def _passed(self, counts: IntArray) -> Candidates:
        looked_at = np.arange(self._seen(counts))
        return self._given.pick(looked_at[self._inverse[looked_at] < 0])

    def _seen(self, counts: IntArray) -> int:
        """Return how many candidates count as seen: opened ones at the end that got nothing do not."""
        used = np.flatnonzero(counts)
        if len(used) and used[-1] == len(counts) - 1:
            return self._visited
        return int(self._places[used[-1]]) + 1 if len(used) else 0

    def feedback(
        self,
        batch: TrainBatch,
        seen: Observed,
        told: Sequence[npt.NDArray[np.generic]] | None,
        entropy: FloatArray | None = None,
    ) -> Feedback:
        """Return what rules with memory learn from a batch (numbered as opened)."""
        drawn = np.flatnonzero(seen.told)
        kept = np.bincount(batch.prompts, minlength=len(seen))
        total = np.bincount(batch.prompts, weights=np.abs(batch.advantages), minlength=len(seen))
        position = np.cumsum(seen.told > 0) - 1
        owners, rewards, outcomes = (told[0], told[1], told[2]) if told else (np.zeros(0, np.int64),) * 3
        return Feedback(
            prompts=self.prompts.pick(drawn),
            counts=seen.told[drawn],
            valid=seen.valid[drawn],
            successes=seen.successes[drawn],
            mean=seen.mean()[drawn],
            signal=seen.signal()[drawn],
            worth=total[drawn] / np.maximum(kept[drawn], 1),
            rewards=np.asarray(rewards, np.float64),
            outcomes=np.asarray(outcomes, np.float64),
            owners=position[np.asarray(owners, np.int64)],
            offered=self.prompts,
            passed=self._passed(seen.told),
            entropy=None if entropy is None else _means(position[np.asarray(owners, np.int64)], entropy, len(drawn)),
        )


def _means(owners: IntArray, values: FloatArray, size: int) -> FloatArray:
    finite = np.isfinite(values)
    total = np.bincount(owners[finite], weights=values[finite], minlength=size)
    counts = np.bincount(owners[finite], minlength=size)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
