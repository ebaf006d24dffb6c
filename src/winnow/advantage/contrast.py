"""Right against wrong: the contrast of a group, weighted by what it teaches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.advantage.base import PARTS, Centred
from winnow.effect import effect_of
from winnow.errors import ConfigError
from winnow.groups import FloatArray, as_rewards
from winnow.observed import SUCCESS


@dataclass(frozen=True, slots=True)
class Contrast:
    """The mean score of better rollouts minus that of worse ones, weighted for the least noise (ours).

    ``A = u d / D`` with d the reward minus the group's mean and D half the sum of |d|: the positive advantages of a
    group add up to u, the negative ones to -u, so for 0/1 rewards with r right and w wrong they are u / r and -u / w.
    ``u = f I / (I + noise)``, f being the failure rate expected of the prompt and ``I = D^2 / sum(d^2)``, which is
    ``r w / (r + w)`` for 0/1 rewards.

    For 0/1 rewards, and whatever outcomes decided about the size of a group or the rows kept of it, the expected update
    of a prompt is ``E[u] grad log(p / (1 - p))``: given the outcomes, right completions are draws from the policy given
    right. With f known and noise 0 it tends to the gradient of ``log p`` as groups grow (enumerated in the tests).

    Columns: ``expected``, the pass rate expected of the rollout's prompt; where the allocation expects nothing (NaN),
    f is ``(wrong + 1) / (size + 2)`` by ``outcomes``.

    Attributes:
        noise: noise within a prompt over noise between prompts, above 0; see `winnow.effect`.

    Raises:
        ConfigError: if it is not.

    Complexity: O(N), plus a stable sort when rows do not lie group by group.
    """

    noise: float = 0.67
    needs = ("outcomes", "expected")

    def __post_init__(self) -> None:
        if not 0 < self.noise < math.inf:
            raise ConfigError(f"Contrast(noise={self.noise!r}): use a finite number above 0, as 0.67")

    @property
    def name(self) -> str:
        """``contrast``."""
        return "contrast"

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, outcomes: npt.ArrayLike, expected: npt.ArrayLike
    ) -> FloatArray:
        """Return float64 (N,); 0 in groups without signal and for rewards that are not finite."""
        values = as_rewards(rewards)
        centred = Centred.of(values, groups)
        members, d = centred.groups, centred.deviation
        if not len(d):
            return np.zeros(len(values))
        # Divided by the largest first: squares of tiny rewards would vanish.
        d = d / members.spread(np.where(centred.largest() > 0, centred.largest(), 1.0))
        half = centred.per_group(np.abs(d)) / 2
        live = half > 0
        information = np.where(live, half**2 / np.where(live, centred.per_group(d**2), 1.0), 0.0)
        weight = effect_of(information, self._failing(centred, outcomes, expected), self.noise)
        return centred.rows(d * members.spread(np.where(live, weight / np.where(live, half, 1.0), 0.0)))

    @staticmethod
    def _failing(centred: Centred, outcomes: npt.ArrayLike, expected: npt.ArrayLike) -> FloatArray:
        members = centred.groups
        wrong = centred.per_group((members.gather(as_rewards(outcomes)) <= SUCCESS).astype(np.float64))
        own = (wrong + 1) / (members.sizes + 2)
        told = members.gather(np.asarray(expected, np.float64))[members.starts]
        return np.where(np.isnan(told), own, 1 - told)


PARTS["contrast"] = Contrast
