"""SRPO's history resampling: prompts whose rollouts were all correct in the last epoch leave the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, check_oversample, first_passing
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory


@dataclass(frozen=True, slots=True)
class Srpo:
    """Pass over prompts that are solved; keep the mixed ones and those that always fail (SRPO, arXiv 2504.14286).

    The paper rebuilds the data at the end of each epoch from the rollouts recorded in it. A host that offers every
    prompt once per epoch gets that from a verdict at a prompt's last visit which takes effect when it is offered again,
    in the next epoch. Prompts that always fail stay: they may become mixed. A dropped prompt has no rollouts that could
    bring it back, so in the paper it is gone for good.

    Ours, both off by default. One lucky epoch removes a prompt (at a success rate of 0.9 two rollouts are both correct
    in 81 of 100 cases), so with ``certainty`` above 0 a prompt is dropped only once its success rate exceeds ``solved``
    with that posterior probability: ``1 - solved^(r + 1) >= certainty`` under a uniform prior, with r correct rollouts
    since the last visit that had a wrong one. And with ``readmit`` above 0 a dropped prompt is tried again with that
    chance each time it is offered, on average after ``1 / readmit`` epochs.

    An outcome above 0.5 is correct. Unscorable rollouts count nowhere; a prompt that had only these keeps its verdict.
    Candidates are taken in the order offered, none is looked at beyond the last one opened, and if all are dropped the
    first is opened. SRPO also sets the advantage of over-long rollouts to 0; that is not part of this rule.

    Settings:
        certainty: posterior probability that drops a prompt, in [0, 1); 0 drops after one visit all correct.
        solved: success rate that counts as solved, in (0, 1); only with ``certainty``.
        readmit: chance that a dropped prompt passes, in [0, 1].
        oversample: candidates per prompt opened, at most.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(candidates). State: one number per prompt.
    """

    certainty: float = 0.0
    solved: float = 0.9
    readmit: float = 0.0
    oversample: int = 4
    _record: Memory = field(default_factory=lambda: Memory(run=0), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_oversample("Srpo", self.oversample)
        if not 0 <= self.certainty < 1:
            raise ConfigError(f"Srpo(certainty={self.certainty!r}): use a number in [0, 1), as 0.9")
        if not 0 < self.solved < 1:
            raise ConfigError(f"Srpo(solved={self.solved!r}): use a success rate strictly between 0 and 1")
        if not 0 <= self.readmit <= 1:
            raise ConfigError(f"Srpo(readmit={self.readmit!r}): use a chance in [0, 1]")

    def passing(self, ids: IntArray) -> FloatArray:
        """Return the chance (P,) that each prompt is let through."""
        run = self._record.get("run", ids)
        # A bound that is met exactly, as 0.19 by one correct rollout at level 0.9, must not fail by a last bit.
        drop = (run > 0) & (1 - self.solved ** (run + 1) >= self.certainty - 1e-12)
        return np.where(drop, self.readmit, 1.0)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the first candidates that pass."""
        passes = rng.random(len(candidates)) < self.passing(candidates.ids)
        return first_passing(np.flatnonzero(passes), wanted, len(candidates))

    def observe(self, feedback: Feedback) -> None:
        """Lengthen the runs of correct rollouts; a visit with a wrong one ends a run."""
        judged = feedback.valid > 0
        ids, valid = feedback.prompts.ids[judged], feedback.valid[judged]
        correct = feedback.successes[judged] == valid
        self._record.set("run", ids, np.where(correct, self._record.get("run", ids) + valid, 0))

    def state_dict(self) -> dict[str, Any]:
        """Return the runs."""
        return self._record.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._record.load_state_dict(state)


RULES["srpo"] = Srpo
declare(
    "srpo",
    About(
        paper="SRPO, arXiv 2504.14286 (history resampling; not its two stages nor its length mask)",
        idea="leave out prompts whose rollouts were all correct at the last visit, keep those that always fail",
        saves="rollouts on solved prompts, from the second epoch on",
        costs="one lucky visit drops a prompt for good (see certainty and readmit); rollouts on hopeless prompts",
        bias="which prompts train depends on their past rewards; the data drifts towards the hard",
    ),
    lambda: {"curriculum": Srpo()},
)
