"""MoPPS: a Beta posterior of each prompt's success rate, and a draw from it that says whom to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.candidates import Candidates
from winnow.curriculum.base import RULES, Choice, best, check_oversample
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory


@dataclass(frozen=True, slots=True)
class Mopps:
    """Open the candidates whose drawn success rate lies nearest to ``target`` (MoPPS, arXiv 2507.04632).

    A prompt's success rate has the posterior Beta(a, b), which starts at Beta(pseudo, pseudo). A step with s successes
    among v scorable rollouts moves it to ``a <- retain a + (1 - retain) pseudo + s`` and to
    ``b <- retain b + (1 - retain) pseudo + v - s``. Each candidate draws one rate from its posterior (Thompson
    sampling), and those of smallest ``|rate - target|`` are opened. With ``band`` above 0 all rates within it of the
    target are as good as each other: the paper's other variant, [0.3, 0.7] at ``band=0.2``.

    Ties fall at random. An outcome above 0.5 is a success; unscorable rollouts count nowhere, and a prompt that had
    only these keeps its posterior. Ours: ``oversample`` is 4 where the authors offer 16 candidates per prompt. Their
    code sets a = b = 8 after any step with n = 1, an operator slip that is not repeated here.

    Every candidate has a positive chance to be opened. With ``retain=1``, the paper's default, the chance of a prompt
    that always fails falls exponentially in its rollouts; below 1 a posterior never holds more than
    ``n / (1 - retain)`` of them, which bounds the chance from below.

    Settings:
        target: success rate wanted, in [0, 1].
        retain: share of the evidence that outlasts a visit, in [0, 1].
        pseudo: pseudo-rollouts on either side, above 0.
        band: half-width in which rates are equally good, in [0, 1].
        oversample: candidates per prompt opened.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(candidates log candidates). State: two numbers per prompt.
    """

    target: float = 0.5
    retain: float = 1.0
    pseudo: float = 1.0
    band: float = 0.0
    oversample: int = 4
    _extra: Memory = field(
        default_factory=lambda: Memory(successes=0.0, failures=0.0), init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        check_oversample("Mopps", self.oversample)
        for name in ("target", "retain", "band"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Mopps({name}={getattr(self, name)!r}): use a number in [0, 1]")
        if not 0 < self.pseudo < np.inf:
            raise ConfigError(f"Mopps(pseudo={self.pseudo!r}): use a finite number above 0, as 1")

    def posterior(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return a and b (P,) of the Beta posterior of each prompt."""
        return self.pseudo + self._extra.get("successes", ids), self.pseudo + self._extra.get("failures", ids)

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the candidates with the nearest draws."""
        drawn = rng.beta(*self.posterior(candidates.ids))
        return best(-np.maximum(np.abs(drawn - self.target) - self.band, 0.0), wanted, rng)

    def observe(self, feedback: Feedback) -> None:
        """Move the posteriors; what is kept of them is their distance to the prior."""
        judged = feedback.valid > 0
        ids, successes = feedback.prompts.ids[judged], feedback.successes[judged]
        failures = feedback.valid[judged] - successes
        for name, new in (("successes", successes), ("failures", failures)):
            self._extra.set(name, ids, self.retain * self._extra.get(name, ids) + new)

    def state_dict(self) -> dict[str, Any]:
        """Return the posteriors."""
        return self._extra.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._extra.load_state_dict(state)


RULES["mopps"] = Mopps
declare(
    "mopps",
    About(
        paper="MoPPS, arXiv 2507.04632",
        idea="draw a success rate from each candidate's posterior, open those nearest to one half",
        saves="rollouts on prompts that are known to be solved or out of reach",
        costs="passes over most candidates; nothing is learned of a prompt from its likes",
        bias="which prompts train depends on their past rewards",
    ),
    lambda: {"curriculum": Mopps()},
)
