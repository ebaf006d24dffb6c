"""What is believed of the pass rates of prompts: one prior for all, and what each showed at earlier visits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray, rank_within
from winnow.memory import Memory
from winnow.observed import SUCCESS

FADING = 0.9
"""What the prior keeps of earlier steps."""
WEAKEST, STRONGEST = 0.1, 8.0
"""Bounds of the prior's strength, in rollouts."""
FIRST = {"groups": 4.0, "right": 2.0, "mixed": 0.8}
"""What the prior starts with: four imagined pairs, which make it Beta(1/3, 1/3): most prompts are easy or hard."""


class Belief:
    """Beta beliefs about pass rates (ours).

    The prior of all prompts has the mean, and the chance that two outcomes of a prompt differ, of the first requests of
    recent groups, earlier steps counting `FADING` times as much with each step: no more of a group, since how many
    rollouts it has may depend on their outcomes. The order within a request has no say. What a prompt itself showed is
    added, and fades by ``retain`` at each visit, as the policy moves. Unscorable rollouts count nowhere.

    Args:
        retain: share of what a prompt showed that outlasts a visit, in [0, 1].

    State: two numbers per prompt seen, and three of the prior.
    """

    def __init__(self, retain: float) -> None:
        self._retain = retain
        self._shown = Memory(right=0.0, wrong=0.0)
        self._first = dict(FIRST)

    @property
    def prior(self) -> tuple[float, float]:
        """The two parameters of the belief about a prompt never seen."""
        mean = self._first["right"] / self._first["groups"]
        chance, spread = self._first["mixed"] / self._first["groups"] / 2, mean * (1 - mean)
        # A Beta of strength t has E[p (1-p)] = mean (1 - mean) t / (t + 1).
        strength = chance / (spread - chance) if spread > chance else STRONGEST
        strength = min(max(strength, WEAKEST), STRONGEST)
        mean = min(max(mean, 0.01), 0.99)
        return mean * strength, (1 - mean) * strength

    def of(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return successes and failures (P,) believed in."""
        a, b = self.prior
        return a + self._shown.get("right", ids), b + self._shown.get("wrong", ids)

    def observe(self, feedback: Feedback, first: IntArray) -> None:
        """Take a finished step in; ``first`` (P,) is how many rollouts its prompts were opened with."""
        judged = feedback.valid > 0
        ids, right = feedback.prompts.ids[judged], feedback.successes[judged]
        for name, new in (("right", right), ("wrong", feedback.valid[judged] - right)):
            self._shown.set(name, ids, self._retain * self._shown.get(name, ids) + new)
        for name, value in self._opened(feedback, first).items():
            self._first[name] = FADING * self._first[name] + value

    @staticmethod
    def _opened(feedback: Feedback, first: IntArray) -> dict[str, float]:
        owners = feedback.owners
        counts = np.isfinite(feedback.outcomes) & (rank_within(owners) < first[owners])
        size = np.bincount(owners[counts], minlength=len(feedback))
        right = np.bincount(owners[counts & (feedback.outcomes > SUCCESS)], minlength=len(feedback))
        enough = size >= 2
        r, n = right[enough].astype(np.float64), size[enough]
        mixed = 2 * r * (n - r) / (n * (n - 1))
        return {"groups": float(len(n)), "right": float((r / n).sum()), "mixed": float(mixed.sum())}

    def state_dict(self) -> dict[str, Any]:
        """Return everything believed."""
        return {"shown": self._shown.state_dict(), "first": dict(self._first)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._shown.load_state_dict(state["shown"])
        self._first = {name: float(state["first"][name]) for name in FIRST}
