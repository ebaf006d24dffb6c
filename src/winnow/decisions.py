"""Why the prompts of a step got the rollouts they got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.groups import FloatArray, IntArray

CLOSED = ("contrast", "solved", "no success", "out of budget")
"""Why a prompt got no more: right and wrong were seen, all were right, all were wrong, or rollouts ran out."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """One entry for each prompt that got rollouts, in the order of ``prompts``.

    Attributes:
        prompts: int64 (K,) prompts, numbered as in the batch.
        before: float64 (K,) pass rate expected before the step.
        rollouts: int64 (K,) rollouts it got.
        right: int64 (K,) of these, successes.
        effect: float64 (K,) what the group teaches, 0 without contrast; see `winnow.effect`.
        closed: why it got no more, words of `CLOSED`.
        rate: effect per unit of cost expected of a prompt never seen: what a prompt had to promise to go on.
    """

    prompts: IntArray
    before: FloatArray
    rollouts: IntArray
    right: IntArray
    effect: FloatArray
    closed: tuple[str, ...]
    rate: float

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the entries for ``metrics.jsonl``, columns by name; ``names`` are those of all prompts."""
        return {
            "rate": round(self.rate, 6),
            "prompt_id": [names[prompt] for prompt in self.prompts.tolist()],
            "before": [round(value, 4) for value in self.before.tolist()],
            "rollouts": self.rollouts.tolist(),
            "right": self.right.tolist(),
            "effect": [round(value, 4) for value in self.effect.tolist()],
            "closed": list(self.closed),
        }
