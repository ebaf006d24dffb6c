"""The rollouts of one generation batch: every rank runs the same step and samples its share of each wave."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.batch import TrainBatch
from winnow.errors import BudgetError
from winnow.groups import FloatArray, IntArray
from winnow.host.trl.ranks import Ranks
from winnow.step import Step

Example = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a rank sampled for its share of a wave, one entry per row.

    Attributes:
        prompt_ids: ids of the prompt.
        ids: sampled ids.
        completions: what reward functions get: text, or a list of messages.
        logprobs: of the sampled ids, None where the engine gives none.
        finished: whether the end-of-sequence id was sampled.
    """

    prompt_ids: Sequence[Sequence[int]]
    ids: Sequence[Sequence[int]]
    completions: Sequence[Any]
    logprobs: Sequence[Sequence[float]] | None
    finished: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One rollout; it stays on the rank that sampled it until it is known whether it trains.

    Attributes:
        number: position in the order told, the same on every rank.
        prompt: index of its prompt in the step.
        prompt_ids: ids of the prompt.
        ids: sampled ids.
        completion: text or messages.
        logprobs: of the sampled ids, or None.
        extra: what reward functions logged about it (TRL's ``log_extra``).
    """

    number: int
    prompt: int
    prompt_ids: Sequence[int]
    ids: Sequence[int]
    completion: Any
    logprobs: Sequence[float] | None
    extra: dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A finished step. Arrays are over all rollouts (N,) in the order told and equal on every rank.

    Attributes:
        batch: which rollouts train, their advantages and weights, and why the rest does not.
        examples: the rows of the dataset that the step is about, one per prompt.
        owners: prompt of each rollout.
        parts: float64 (N, F) values of the reward functions, NaN where one gave None.
        rewards: their weighted sum, NaN where all gave None.
        outcomes: what signal is judged on.
        lengths: sampled ids.
        finished: ended by an end-of-sequence id.
        rows: the rollouts that this rank sampled, by number.
        surplus: rollouts sampled only to give every rank equally many, and thrown away.
        seconds: time per phase: ``generate``, ``score``, ``decide``.
    """

    batch: TrainBatch
    examples: Sequence[Example]
    owners: IntArray
    parts: FloatArray
    rewards: FloatArray
    outcomes: FloatArray
    lengths: IntArray
    finished: npt.NDArray[np.bool_]
    rows: dict[int, Row]
    surplus: int
    seconds: dict[str, float]


Generate = Callable[[Sequence[Example]], Sampled]
Score = Callable[[Sequence[Example], Sampled], tuple[FloatArray, Sequence[dict[str, Any]]]]


def draw(
    step: Step,
    examples: Sequence[Example],
    ranks: Ranks,
    generate: Generate,
    score: Score,
    weights: FloatArray,
    outcome: int | None = None,
) -> Drawn:
    """Draw one step on all ranks together.

    A wave is cut into equal parts, so that every rank makes the same calls with equally many rows whatever the recipe
    asks for: no collective inside sampling or scoring can wait for a rank that has nothing to do. All ranks see
    all rewards, hence decide alike. Within a wave rollouts are told by prompt.

    Args:
        step: the recipe's step, begun with the same seed on every rank.
        examples: rows of the dataset (P,), the same on every rank.
        ranks: the processes.
        generate: samples one completion for each row given, on this rank.
        score: returns the values of the reward functions for the rows of all ranks, float64 (ranks x rows, F), and
            what they logged about the rows of this rank.
        weights: float64 (F,) weight of each reward function.
        outcome: position of the reward function that signal is judged on; None: their weighted sum.

    Raises:
        BudgetError: the recipe waits for results while there are none to come.
        ConfigError: the ranks disagree about what to draw.
    """
    clock = _Clock()
    waves: list[_Wave] = []
    rows: dict[int, Row] = {}
    told = surplus = 0
    while not step.done:
        requests = step.ask()
        if not requests:
            raise BudgetError(f"the recipe asks for nothing and waits for results after {told} rollouts were told")
        owners = np.sort(np.repeat(requests.prompts, requests.counts), kind="stable")
        ranks.agree(zlib.crc32(owners.tobytes()), "what to draw")
        mine = ranks.share(owners)
        given = [examples[prompt] for prompt in mine]
        clock.lap("decide")
        with ranks.phase("generate"):
            sampled = generate(given)
            ends = ranks.gather(list(zip(map(len, sampled.ids), sampled.finished, strict=True)))
        clock.lap("generate")
        with ranks.phase("score"):
            parts, extras = score(given, sampled)
        clock.lap("score")
        wave = _Wave.of(owners, parts, ends, weights, outcome)
        facts = {"truncated": ~wave.finished} if "truncated" in step.recipe.needs else {}
        step.tell(owners, wave.rewards, outcomes=wave.outcomes, tokens=wave.lengths, **facts)
        first = told + ranks.rank * len(mine)
        numbers = range(first, min(first + len(mine), told + len(owners)))
        rows |= {number: _row(number, k, int(mine[k]), sampled, extras) for k, number in enumerate(numbers)}
        told, surplus = told + len(owners), surplus + ranks.surplus(len(owners))
        waves.append(wave)
        clock.lap("decide")
    batch = step.finish()
    ranks.agree(zlib.crc32(batch.rows.tobytes()), "which rows train")
    clock.lap("decide")
    owners, parts, rewards, outcomes, lengths, finished = map(
        np.concatenate, zip(*map(_Wave.columns, waves), strict=True)
    )
    return Drawn(
        batch, examples, owners, parts, rewards, outcomes, lengths, finished, rows, surplus, seconds=clock.seconds
    )


@dataclass(frozen=True, slots=True)
class _Wave:
    owners: IntArray
    parts: FloatArray
    rewards: FloatArray
    outcomes: FloatArray
    lengths: IntArray
    finished: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        owners: IntArray,
        parts: FloatArray,
        ends: Sequence[tuple[int, bool]],
        weights: FloatArray,
        outcome: int | None,
    ) -> _Wave:
        count = len(owners)
        parts = parts[:count]
        rewards = np.where(np.isnan(parts).all(axis=1), np.nan, np.nansum(parts * weights, axis=1))
        outcomes = rewards if outcome is None else parts[:, outcome]
        lengths = np.array([length for length, _ in ends[:count]], np.int64)
        return cls(owners, parts, rewards, outcomes, lengths, np.array([end for _, end in ends[:count]], bool))

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return self.owners, self.parts, self.rewards, self.outcomes, self.lengths, self.finished


def _row(number: int, k: int, prompt: int, sampled: Sampled, extras: Sequence[dict[str, Any]]) -> Row:
    logprobs = None if sampled.logprobs is None else sampled.logprobs[k]
    return Row(number, prompt, sampled.prompt_ids[k], sampled.ids[k], sampled.completions[k], logprobs, extras[k])


class _Clock:
    """Charges the time since the last lap to a phase."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("generate", "score", "decide"), 0.0)
        self._last = perf_counter()

    def lap(self, phase: str) -> None:
        now = perf_counter()
        self.seconds[phase] += now - self._last
        self._last = now
