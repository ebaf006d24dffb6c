"""DPPO, prompt level: pass over prompts whose rollouts taught little, and pay the others for it; and the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.advantage import grpo
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory
from winnow.objective.config import Objective
from winnow.selection.dppo import Dppo, low_rows, thinned, to_keep


@dataclass(frozen=True, slots=True)
class DppoPrompts:
    """Open all prompts with a high record and a random part of those with a low one (DPPO, arXiv 2603.04135).

    A prompt's record is an average of the mean |A| of its groups, in which the latest counts ``1 - decay``; A is
    GRPO's, over all its rollouts, whatever trains later. Low is a record below the mean record of the candidates
    that have one; a prompt never seen is not low. Of the first V candidates, L of them low, exactly
    ``k = round(L (1 - prune_prompts))``, at least 1, of the low ones are chosen uniformly. V is the most that fits
    into the step, which past records decide and no draw.

    Weights: L / k for low prompts and 1 for the others, times opened / V. They have mean 1, and the loss of the step,
    a mean over the prompts opened, has the mean over the V prompts visited as its expectation: exactly for prompts
    with equal numbers of scorable rollouts and a denominator in rows (``aggregation="sequence"`` or ``"constant"``);
    up to a ratio of token counts for ``"token"``. Weights multiply with those of the rollout level.

    The source does not say how records are kept; the average, the fixed size and V are ours. `winnow.selection.packing`
    has its packing of short groups. A passed-over prompt keeps its record and comes up again in the next epoch.

    Attributes:
        prune_prompts: share of low prompts passed over, in [0, 1); 0 switches this level off.
        decay: weight of the past in a record, in [0, 1).
        oversample: candidates per prompt wanted; 1 opens fewer prompts instead of filling the step up.

    Raises `ConfigError` if a setting is out of range. Complexity: O(P log P). State: one number per prompt.
    """

    prune_prompts: float = 0.5
    decay: float = 0.5
    oversample: int = 2
    _records: Memory = field(default_factory=lambda: Memory(record=0.0), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_oversample("DppoPrompts", self.oversample)
        for name in ("prune_prompts", "decay"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"DppoPrompts({name}={getattr(self, name)!r}): use a share in [0, 1), as 0.5")

    def record(self, ids: IntArray) -> FloatArray:
        """Return the records (P,), NaN where there is none."""
        return np.where(self._records.known(ids), self._records.get("record", ids), np.nan)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return high prompts and a random part of the low ones, with the weights that make up for the rest."""
        low = np.zeros(len(candidates), bool)
        known = np.flatnonzero(self._records.known(candidates.ids))
        if self.prune_prompts:
            low[known] = low_rows(self.record(candidates.ids[known]), None)
        count = np.cumsum(low)
        needed = np.arange(1, len(low) + 1) - count + to_keep(count, self.prune_prompts)
        visited = int(np.searchsorted(needed, wanted, side="right"))
        kept, weights = thinned(low[:visited], np.zeros(visited, np.int64), self.prune_prompts, rng)
        opened = np.flatnonzero(kept)
        return Choice(opened, visited, weights[opened] * len(opened) / visited)

    def observe(self, feedback: Feedback) -> None:
        """Move the records of prompts with a scorable rollout."""
        total = np.bincount(feedback.owners, np.abs(grpo(feedback.rewards, feedback.owners)), len(feedback))
        scored = np.bincount(feedback.owners, np.isfinite(feedback.rewards), len(feedback))
        judged = scored > 0
        ids, worth = feedback.prompts.ids[judged], total[judged] / scored[judged]
        past = np.where(self._records.known(ids), self._records.get("record", ids), worth)
        self._records.set("record", ids, self.decay * past + (1 - self.decay) * worth)

    def state_dict(self) -> dict[str, Any]:
        """Return the records."""
        return self._records.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._records.load_state_dict(state)


RULES["dppo"] = DppoPrompts
declare(
    "dppo",
    About(
        paper="DPPO, arXiv 2603.04135; random thinning of fixed size, records and their threshold are ours",
        idea="drop a random half of what taught little, prompts before and rollouts after, and weigh up the rest",
        saves="rollouts on prompts of low record, from the second epoch on, and updates on rollouts of low |advantage|",
        costs="variance: kept low rows count double",
        bias="none from the thinning; token aggregation leaves that of a ratio of token counts",
        status="decision",
    ),
    lambda: {
        "curriculum": DppoPrompts(),
        "selection": Dppo(),
        "stats": "full",
        "objective": Objective(denominator="full"),
    },
)
