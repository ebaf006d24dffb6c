"""GPS: one small Bayesian predictor for all prompts, and a batch of medium difficulty that is also diverse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, best, check_oversample
from winnow.curriculum.network import Logistic, Record, inputs, unit
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Gps:
    """Open a batch that maximises closeness to ``target`` and spread (GPS, arXiv 2602.01970).

    The source predicts success rates with a network whose latent z, shared by all prompts, is inferred from the latest
    batch given the ones before; a prediction is the mean over draws of z, and the batch is built greedily from
    ``-(rate - target)^2 + diversity * distance``, the distance to the batch so far and to recent batches.

    Ours keeps that form at a size that a laptop trains in a moment. z is the weight vector of a logistic regression on
    the prompts' features, with a Gaussian belief that widens between steps and is moved by each
    (`winnow.curriculum.network.Logistic`); n rollouts of one prompt count for it as ``n (1 + strength) / (n +
    strength)``, as prompts differ beyond their features. Each prompt's own record is added as a Beta update of the
    shared prediction: ``(strength shared + successes) / (strength + trials)``, both fading by ``retain`` per step. The
    distance is half of 1 - cosine, in [0, 1]: the mean over the prompts taken so far plus the mean over past batches,
    the last one counting half, the one before a quarter, and so on. The values of ``diversity`` and ``draws`` are
    ours too. Candidates are what the host offers, where the source takes the whole pool.

    Without features the shared part is the mean over all prompts, told apart by their records, and there is no
    diversity. Ties fall at random. An outcome above 0.5 is a success; unscorable rollouts count nowhere. No chance is
    kept for prompts that are predicted far from the target; their records fade.

    Settings:
        target: predicted success rate wanted, in [0, 1].
        diversity: weight of the distance, 0 or more; 0.05 lets full distance outweigh an error of 0.22 in the rate.
        draws: draws of z per prediction.
        retain: share of the evidence that outlasts a step, in [0, 1].
        strength: rollouts of a prompt that count as much as the shared prediction, above 0.
        oversample: candidates per prompt opened.

    Raises:
        ConfigError: if a setting is out of range, or the features' width changes between steps.

    Complexity: O(candidates x opened x D), and O(K^3) to learn, K at most 65. State: K^2 + D numbers, and three per
    prompt.
    """

    target: float = 0.5
    diversity: float = 0.05
    draws: int = 32
    retain: float = 0.99
    strength: float = 4.0
    oversample: int = 4
    _shared: Logistic = field(init=False, compare=False, repr=False)
    _record: Record = field(init=False, compare=False, repr=False)
    _recent: dict[str, FloatArray] = field(default_factory=dict, init=False, compare=False, repr=False)
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_oversample("Gps", self.oversample)
        for name in ("target", "retain"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Gps({name}={getattr(self, name)!r}): use a number in [0, 1]")
        if not 0 <= self.diversity < np.inf:
            raise ConfigError(f"Gps(diversity={self.diversity!r}): use a finite number >= 0, as 0.05")
        if isinstance(self.draws, bool) or not isinstance(self.draws, int | np.integer) or self.draws < 1:
            raise ConfigError(f"Gps(draws={self.draws!r}): use a whole number >= 1")
        if not 0 < self.strength < np.inf:
            raise ConfigError(f"Gps(strength={self.strength!r}): use a finite number of rollouts above 0, as 4")
        object.__setattr__(self, "_shared", Logistic(self.retain))
        object.__setattr__(self, "_record", Record(self.retain))

    def predicted(self, candidates: Candidates, rng: np.random.Generator) -> FloatArray:
        """Return the predicted success rate (P,) of each candidate."""
        shared = self._shared.rates(inputs(candidates.features, len(candidates)), self.draws, rng)
        return self._record.blended(candidates.ids, shared, self.strength)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the batch, built greedily."""
        utility = -((self.predicted(candidates, rng) - self.target) ** 2)
        if candidates.features is None or self.diversity == 0:
            return best(np.round(utility, 12), wanted, rng)
        vectors = unit(candidates.features)
        away = 0.5 - 0.5 * vectors @ self._recent.get("mean", np.zeros(vectors.shape[1]))
        order = rng.permutation(len(utility))
        chosen = greedy((utility + self.diversity * away)[order], vectors[order], self.diversity, wanted)
        return Choice(np.sort(order[chosen]), len(candidates))

    def observe(self, feedback: Feedback) -> None:
        """Move the belief, the records, and the mean of recent batches."""
        judged = feedback.valid > 0
        trials = feedback.valid[judged].astype(np.float64)
        worth = (1 + self.strength) / (trials + self.strength)
        x = inputs(feedback.prompts.features, len(feedback))[judged]
        self._shared.learn(x, worth * feedback.successes[judged], worth * trials)
        self._record.learn(feedback)
        if feedback.prompts.features is not None and len(feedback):
            batch = unit(feedback.prompts.features).mean(0)
            self._recent["mean"] = 0.5 * self._recent.get("mean", batch) + 0.5 * batch

    def state_dict(self) -> dict[str, Any]:
        """Return belief, records and the mean of recent batches."""
        recent = self._recent.get("mean")
        return {
            "shared": self._shared.state_dict(),
            "record": self._record.state_dict(),
            "recent": None if recent is None else recent.tolist(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._shared.load_state_dict(state["shared"])
        self._record.load_state_dict(state["record"])
        self._recent.clear()
        if state["recent"] is not None:
            self._recent["mean"] = np.array(state["recent"], np.float64)


def greedy(utility: FloatArray, vectors: FloatArray, diversity: float, wanted: int) -> IntArray:
    """Return positions (K,) that add most to utility plus diversity times the mean distance to those before them.

    Args:
        utility: (P,).
        vectors: (P, D) of length 1; the distance of two is half of 1 - their inner product.
        diversity: weight of the distance.
        wanted: the most to take.

    Ties go to the lowest position. Complexity: O(P D wanted).
    """
    left, total = np.array(utility, np.float64), np.zeros(vectors.shape[1])
    chosen: list[int] = []
    for taken in range(min(wanted, len(left))):
        distance = 0.5 - 0.5 * (vectors @ total) / max(taken, 1)
        place = int(np.round(left + diversity * distance, 12).argmax())
        chosen.append(place)
        left[place] = -np.inf
        total += vectors[place]
    return np.array(chosen, np.int64)


RULES["gps"] = Gps
declare(
    "gps",
    About(
        paper="GPS, arXiv 2602.01970; its network is a Bayesian logistic regression on prompt features here",
        idea="predict success rates with one model for all prompts, open a diverse batch near one half",
        saves="rollouts on prompts predicted to be solved or out of reach, seen before or not",
        costs="passes over three of four candidates; as good as the features are",
        bias="which prompts train depends on past rewards",
        status="decision",
    ),
    lambda: {"curriculum": Gps()},
)
