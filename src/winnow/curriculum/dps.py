"""DPS: a hidden Markov model of whether a prompt is out of reach, partly solved or solved, and its forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, best, check_oversample
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray

FAILED, PARTLY, SOLVED = range(3)


@dataclass(frozen=True, slots=True)
class Dps:
    """Open the candidates most likely to be partly solved at this step (DPS, arXiv 2603.10887).

    A prompt is in one of three states: all of its rollouts wrong, some right, all right. What is known of its state is
    a belief x (3,), and of its moves a matrix of Dirichlet counts C (3, 3), C[i, j] for a move from j to i; the
    expected moves are ``A = C / (column sums)``, the forecast is ``A x``. After each step, for every prompt ever seen,

    - visited in state k: C gains the expected moves ``outer(e_k, x) * A``, scaled to sum 1, and x becomes e_k;
    - not visited: x becomes its forecast ``A x``;

    and what C holds beyond the prior is multiplied by ``retain`` before the gain. The candidates with the largest
    forecast of the middle state are opened. ``curiosity`` adds a multiple of the forecast's entropy, a variant of the
    authors.

    The state is judged by signal: some outcomes differ, or all are equal and above 0.5, or not. A prompt never visited
    has the even forecast (1/3, 1/3, 1/3), and one long unvisited returns to it; one without scorable rollouts counts as
    not visited. Ties, such as all unseen prompts, fall at random. Ours: ``oversample`` is 4 where the authors offer 32
    candidates per prompt. No chance is kept for a prompt that always has likelier rivals.

    Settings:
        retain: share of what C holds beyond the prior that outlasts a step, in [0, 1]; the authors use 0.5 to 0.7.
        pseudo: Dirichlet count of every move, above 0.
        curiosity: weight of the entropy (nats) of a forecast, 0 or more.
        oversample: candidates per prompt opened.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(prompts seen) per step. State: 12 numbers per prompt.
    """

    retain: float = 0.7
    pseudo: float = 1.0
    curiosity: float = 0.0
    oversample: int = 4
    _chains: _Chains = field(default_factory=lambda: _Chains(), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_oversample("Dps", self.oversample)
        if not 0 <= self.retain <= 1:
            raise ConfigError(f"Dps(retain={self.retain!r}): use a number in [0, 1], as 0.7")
        if not 0 < self.pseudo < np.inf:
            raise ConfigError(f"Dps(pseudo={self.pseudo!r}): use a finite number above 0, as 1")
        if not 0 <= self.curiosity < np.inf:
            raise ConfigError(f"Dps(curiosity={self.curiosity!r}): use a finite number >= 0")

    def forecast(self, ids: IntArray) -> FloatArray:
        """Return (P, 3), the chance that each prompt is all wrong, partly right, all right at the next step."""
        rows = self._chains.rows(ids)
        seen = rows[rows >= 0]
        found = np.full((len(ids), 3), 1 / 3)
        found[rows >= 0] = _ahead(self.pseudo + self._chains.extra[seen], self._chains.belief[seen])
        return found

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the candidates with the largest forecast of being partly solved."""
        chances = self.forecast(candidates.ids)
        doubt = -(chances * np.log(np.maximum(chances, 1e-300))).sum(1)
        return best(np.round(chances[:, PARTLY] + self.curiosity * doubt, 12), wanted, rng)

    def observe(self, feedback: Feedback) -> None:
        """Move every belief one step on."""
        judged = feedback.valid > 0
        right = np.where(feedback.successes > 0, SOLVED, FAILED)
        states = np.where(feedback.signal, PARTLY, right)[judged]
        self._chains.advance(feedback.prompts.ids[judged], states, self.retain, self.pseudo)

    def state_dict(self) -> dict[str, Any]:
        """Return beliefs and counts."""
        return self._chains.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._chains.load_state_dict(state)


class _Chains:
    """Beliefs (N, 3), and counts of moves beyond the prior (N, 3, 3), of all prompts seen."""

    def __init__(self) -> None:
        self._row: dict[int, int] = {}
        self.belief: FloatArray = np.zeros((0, 3))
        self.extra: FloatArray = np.zeros((0, 3, 3))

    def rows(self, ids: IntArray) -> IntArray:
        """Return the row (P,) of each prompt, -1 for those not seen."""
        return np.fromiter((self._row.get(prompt, -1) for prompt in ids.tolist()), np.int64, len(ids))

    def advance(self, ids: IntArray, states: IntArray, retain: float, pseudo: float) -> None:
        for prompt in ids.tolist():
            self._row.setdefault(prompt, len(self._row))
        new = len(self._row) - len(self.belief)
        self.belief = np.concatenate((self.belief, np.full((new, 3), 1 / 3)))
        self.extra = np.concatenate((self.extra, np.zeros((new, 3, 3))))
        rows, counts = self.rows(ids), pseudo + self.extra
        reached = np.eye(3)[states]
        moves = reached[:, :, None] * self.belief[rows, None, :] * _moves(counts[rows])
        self.extra *= retain
        self.extra[rows] += moves / moves.sum((1, 2), keepdims=True)
        self.belief = _ahead(counts, self.belief)
        self.belief[rows] = reached

    def state_dict(self) -> dict[str, Any]:
        return {"ids": list(self._row), "belief": self.belief.tolist(), "extra": self.extra.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._row = {int(prompt): row for row, prompt in enumerate(state["ids"])}
        self.belief = np.array(state["belief"], np.float64).reshape(-1, 3)
        self.extra = np.array(state["extra"], np.float64).reshape(-1, 3, 3)


def _moves(counts: FloatArray) -> FloatArray:
    moves: npt.NDArray[np.float64] = counts / counts.sum(1, keepdims=True)
    return moves


def _ahead(counts: FloatArray, belief: FloatArray) -> FloatArray:
    ahead: npt.NDArray[np.float64] = (_moves(counts) * belief[:, None, :]).sum(2)
    return ahead


RULES["dps"] = Dps
declare(
    "dps",
    About(
        paper="DPS, arXiv 2603.10887",
        idea="forecast each candidate's state with a hidden Markov model, open those likely to be partly solved",
        saves="rollouts on prompts forecast to be all right or all wrong",
        costs="passes over most candidates; nothing is learned of a prompt from its likes",
        bias="which prompts train depends on their past rewards",
    ),
    lambda: {"curriculum": Dps()},
)
