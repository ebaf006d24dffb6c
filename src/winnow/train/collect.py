"""The loop of one step: ask the recipe, sample, score, tell; the same for rounds and for streaming."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.batch import TrainBatch
from winnow.errors import BudgetError
from winnow.reward import Item, Reward
from winnow.rollout import Prompt, Rollout, Verdict
from winnow.step import Step
from winnow.train.facts import facts
from winnow.train.numbering import Numbering

if TYPE_CHECKING:
    from winnow.engine import Session


class Interrupted(Exception):
    """The user asked the run to stop while a step was being sampled; the step is dropped."""


@dataclass(frozen=True)
class Collected:
    """Everything one step drew.

    Attributes:
        rollouts: all rollouts (R,) in the order the recipe was told about them, each with its verdict; the
            rows of ``batch`` are positions in this list.
        batch: what trains, and why the rest does not.
        seconds: time per phase: ``generate``, ``score``, ``decide``.
    """

    rollouts: Sequence[Rollout]
    batch: TrainBatch
    seconds: dict[str, float]


def collect(
    step: Step,
    session: Session,
    prompts: Sequence[Prompt],
    reward: Reward,
    *,
    label: str,
    barrier: bool,
    stopped: Callable[[], bool] = lambda: False,
) -> Collected:
    """Draw one step.

    Rollouts are told in the order in which they finish, those that finish together by prompt and draw. On a
    CPU that order follows from the seed alone, so a step drawn again is the same step.

    Args:
        step: the recipe's step, just begun.
        session: samples completions of ``prompts``.
        prompts: the prompts (P,) of the step.
        reward: scores completions.
        label: start of the rollouts' printable ids, such as the number of the step.
        barrier: the recipe waits for whole waves. Their rollouts are then scored in one call; otherwise
            requests go out only as slots are free, and every rollout is scored as soon as it is finished.
        stopped: asked between decoding steps.

    Raises:
        Interrupted: ``stopped`` said so; nothing outside this step has changed.
        BudgetError: the recipe waits for results while no rollout is in flight.
    """
    seconds = dict.fromkeys(("generate", "score", "decide"), 0.0)
    told: list[Rollout] = []
    numbering = Numbering(step, session) if step.recipe.branches else None
    clock = _Clock(seconds)
    while not step.done:
        room = None if barrier else session.free
        requests = step.ask(room) if room is None or room > 0 else []
        clock.lap("decide")
        session.submit(requests if numbering is None else numbering.places(requests))
        finished = _advance(session, barrier, stopped)
        clock.lap("generate")
        if not finished:
            raise BudgetError(
                f"step {label}: the recipe asks for nothing and waits for results, but no rollout is in flight "
                f"({len(told)} are told)"
            )
        numbers = [rollout.prompt for rollout in finished] if numbering is None else numbering.back(finished)
        _score(finished, prompts, reward, label)
        clock.lap("score")
        _tell(step, finished, numbers)
        told += finished
        clock.lap("decide")
    batch = step.finish()
    clock.lap("decide")
    return Collected(told, batch, seconds)


class _Clock:
    """Charges the time since the last lap to a phase."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = perf_counter()

    def lap(self, phase: str) -> None:
        now = perf_counter()
        self._seconds[phase] += now - self._last
        self._last = now


def _advance(session: Session, barrier: bool, stopped: Callable[[], bool]) -> list[Rollout]:
    finished: list[Rollout] = []
    while session.in_flight or session.queued:
        if stopped():
            raise Interrupted
        finished += session.advance()
        if finished and not barrier:
            break
    return sorted(finished, key=lambda rollout: (rollout.prompt, rollout.draw))


def rollout_id(label: str, prompt: Prompt, rollout: Rollout) -> str:
    """Return the printable id of a rollout, unique in a run: step, prompt and draw."""
    return f"{label}/{prompt.id}/{rollout.draw}"


def record_of(step: int, label: str, prompt: Prompt, rollout: Rollout) -> dict[str, Any]:
    """Return what ``rollouts.jsonl`` says of a rollout, whoever drew it; what became of it is added by the caller."""
    verdict = rollout.verdict or Verdict(None)
    return {
        "step": step,
        "prompt_id": prompt.id,
        "rollout_id": rollout_id(label, prompt, rollout),
        "prompt": prompt.text,
        "answer": prompt.answer,
        "text": rollout.text,
        "ids": rollout.ids,
        "finish": rollout.finish,
        "reward": verdict.score,
        "outcome": verdict.outcome,
        "parts": dict(verdict.parts) or None,
        "reason": verdict.reason or None,
    }


def _score(rollouts: Sequence[Rollout], prompts: Sequence[Prompt], reward: Reward, label: str) -> None:
    items = [Item(prompts[r.prompt], r.text, rollout_id(label, prompts[r.prompt], r)) for r in rollouts]
    for rollout, verdict in zip(rollouts, reward.score(items), strict=True):
        rollout.verdict = verdict


def judged(verdict: Verdict) -> float | None:
    """Return what signal is judged on: the outcome where there is one, else the score."""
    return verdict.score if verdict.outcome is None else verdict.outcome


def _tell(step: Step, rollouts: Sequence[Rollout], numbers: Sequence[int]) -> None:
    verdicts = [rollout.verdict or Verdict(None) for rollout in rollouts]
    step.tell(
        np.array(numbers, dtype=np.int64),
        np.array([_nan(verdict.score) for verdict in verdicts]),
        outcomes=np.array([_nan(judged(verdict)) for verdict in verdicts]),
        tokens=np.array([len(rollout.ids) for rollout in rollouts], dtype=np.int64),
        **facts((*step.recipe.needs, *step.recipe.wants), rollouts),
    )


def _nan(value: float | None) -> float:
    return np.nan if value is None else float(value)
