"""HIVE: shortlist prompts of medium difficulty and high entropy from their history, then keep the uncertain half."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample, first_passing
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory

UNKNOWN = -1.0
"""Stands in memory for what was never told: checkpoints are JSON, which has no NaN."""


@dataclass(frozen=True, slots=True)
class Hive:
    """Shortlist candidates by their history, then open the half of highest entropy (HIVE, arXiv 2603.25184).

    1. Each candidate is shortlisted with probability ``max(floor, 4 p (1 - p) e)``: p is its past success rate, e runs
       from 0.5 to 1 with the rank of its past response entropy among the candidates (equal entropies share a rank). A
       prompt never seen is shortlisted for certain. The formula is ours.
    2. Of the shortlist those at or above its median entropy are opened, in the order offered. The source takes the
       entropy of the prompt itself under the current policy, at the cost of a forward pass: candidates that have an
       ``entropy`` (P,) are judged by that. For others the response entropy remembered of each prompt stands in (ours);
       prompts without one pass. Ours too: a step that this leaves short takes the rest of the shortlist, highest
       entropy first, then as offered.

    p and the response entropy are averages that keep a share ``retain`` of themselves at each visit. Where steps bring
    no response entropy (``Feedback.entropy``), e is 1; where there is no entropy of either kind, stage 2 lets all pass
    and rewards alone decide. An outcome above 0.5 is a success; unscorable rollouts count nowhere. If nothing is
    shortlisted, the first candidate is opened.

    Stage 1 gives every candidate a chance of at least ``floor``; stage 2 holds none for low entropies.

    Settings:
        floor: smallest chance to be shortlisted, in (0, 1].
        retain: share of the averages that outlasts a visit, in [0, 1).
        oversample: candidates per prompt opened.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(candidates log candidates). State: two numbers per prompt.
    """

    floor: float = 0.05
    retain: float = 0.5
    oversample: int = 4
    wants: ClassVar[tuple[str, ...]] = ("entropy",)
    _past: Memory = field(
        default_factory=lambda: Memory(rate=UNKNOWN, entropy=UNKNOWN), init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        check_oversample("Hive", self.oversample)
        if not 0 < self.floor <= 1:
            raise ConfigError(f"Hive(floor={self.floor!r}): use a chance in (0, 1], as 0.05")
        if not 0 <= self.retain < 1:
            raise ConfigError(f"Hive(retain={self.retain!r}): use a share in [0, 1), as 0.5")

    def chance(self, ids: IntArray) -> FloatArray:
        """Return the probability (P,) that each prompt is shortlisted, if these are the candidates."""
        rate = self._known("rate", ids)
        chance = np.maximum(self.floor, 4 * rate * (1 - rate) * _ranked(self._known("entropy", ids)))
        return np.where(np.isnan(rate), 1.0, chance)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return what both stages leave."""
        size = len(candidates)
        short = np.flatnonzero(rng.random(size) < self.chance(candidates.ids))
        now = getattr(candidates, "entropy", None)
        entropy = self._known("entropy", candidates.ids) if now is None else np.asarray(now, np.float64)
        entropy = entropy[short]
        known = entropy[~np.isnan(entropy)]
        if not len(known):
            return first_passing(short, wanted, size)
        below = entropy < np.median(known)
        order = np.lexsort((np.where(below, -entropy, 0.0), below))
        return Choice(np.sort(short[order[:wanted]]), size)

    def observe(self, feedback: Feedback) -> None:
        """Move the averages."""
        judged = feedback.valid > 0
        self._average("rate", feedback.prompts.ids[judged], feedback.successes[judged] / feedback.valid[judged])
        entropy = getattr(feedback, "entropy", None)
        if entropy is not None:
            told = np.isfinite(entropy)
            self._average("entropy", feedback.prompts.ids[told], entropy[told])

    def _average(self, name: str, ids: IntArray, new: FloatArray) -> None:
        old = self._known(name, ids)
        self._past.set(name, ids, np.where(np.isnan(old), new, self.retain * old + (1 - self.retain) * new))

    def _known(self, name: str, ids: IntArray) -> FloatArray:
        values = self._past.get(name, ids)
        return np.where(values < 0, np.nan, values)

    def state_dict(self) -> dict[str, Any]:
        """Return the averages."""
        return self._past.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._past.load_state_dict(state)


def _ranked(entropy: FloatArray) -> FloatArray:
    """Return 0.5 to 1 by rank, 1 where the entropy is not known; ties take the mean of their ranks."""
    known = ~np.isnan(entropy)
    values, place, counts = np.unique(entropy[known], return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts + 1) / 2
    found = np.ones(len(entropy))
    if len(values) > 1:
        found[known] = 0.5 + 0.5 * ranks[place] / (known.sum() - 1)
    return found


RULES["hive"] = Hive
declare(
    "hive",
    About(
        paper="HIVE, arXiv 2603.25184; the formula of its first stage is ours, the entropy of its second remembered",
        idea="shortlist prompts of medium past difficulty, open those of them with the higher entropy",
        saves="rollouts on prompts that were solved or out of reach at their last visits",
        costs="a prompt that becomes solvable is found late",
        bias="which prompts train depends on their past rewards",
        status="decision",
    ),
    lambda: {"curriculum": Hive()},
)
