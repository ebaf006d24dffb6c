"""Right against wrong, each side weighted by how little noise it has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.advantage.base import PARTS, Centred
from winnow.effect import RIGHT, WRONG, Noise
from winnow.groups import FloatArray, as_rewards


@dataclass(frozen=True, slots=True)
class Contrast:
    """The gradient of a prompt's log pass rate from both sides of its group, with the least noise (ours).

    ``A = f d / noise / (1 + P)``, ``P = sum(d^2 / noise)``: d is the reward minus the group's mean, in units of the
    range of its rewards, noise that of the side of d (`winnow.effect.Noise`: ``right`` where d > 0, ``wrong`` where
    d < 0), and f = (largest reward - mean) / range. For 0/1 rewards f is the share of wrong rollouts; the positive
    advantages are ``f^2 / right / (1 + P)`` each, the negative ones ``-f p / wrong / (1 + P)``.

    As ``noise.wrong`` grows, right rollouts alone remain, and as ``noise.right`` falls, each mixed group counts the
    same: the mean score of its right rollouts. With equal noise both sides add up to the same, as in GRPO, and a group
    counts ``f I / (I + noise)`` with I = right wrong / size.

    For 0/1 rewards, and whatever outcomes decided about the size of a group or the rows kept of it, the expected update
    of a prompt is a positive multiple of ``grad log(p / (1 - p))``: given the outcomes, right completions are draws
    from the policy given right, and so are wrong ones (enumerated in the tests).

    Attributes:
        noise_right: see `winnow.effect.Noise`.
        noise_wrong: likewise.

    Raises:
        ConfigError: if one is not from 1e-9 to 1e9.

    Complexity: O(N), plus a stable sort when rows do not lie group by group.
    """

    noise_right: float = RIGHT
    noise_wrong: float = WRONG

    def __post_init__(self) -> None:
        Noise(self.noise_right, self.noise_wrong)

    @property
    def name(self) -> str:
        """``contrast``."""
        return "contrast"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); 0 in groups without signal and for rewards that are not finite."""
        values = as_rewards(rewards)
        centred = Centred.of(values, groups)
        members, d = centred.groups, centred.deviation
        if not len(d):
            return np.zeros(len(values))
        top = np.maximum.reduceat(d, members.starts)
        span = top - np.minimum.reduceat(d, members.starts)
        live = span > 0
        d = d / members.spread(np.where(live, span, 1.0))
        pull = d / np.where(d > 0, self.noise_right, self.noise_wrong)
        precision = centred.per_group(d * pull)
        failing = np.where(live, top / np.where(live, span, 1.0), 0.0)
        return centred.rows(pull * members.spread(failing / (1 + precision)))


PARTS["contrast"] = Contrast
