"""Keep the groups whose success rate lies inside a band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.errors import ConfigError
from winnow.gating.zero_signal import RULES
from winnow.groups import FloatArray
from winnow.observed import Observed

ROUNDING = 1e-9
"""How far outside a mean may lie and still be on the edge: means of 0/1 outcomes are not exact in floating point."""


@dataclass(frozen=True, slots=True)
class Band:
    """Admit groups with ``low <= mean outcome <= high``, both edges included (online difficulty filtering, 2504.03380).

    The mean is over the scorable outcomes of the step; a group without any stays out. With 0/1 outcomes and
    ``0 < low``, ``high < 1`` every group admitted has signal. The default band is that of Pilot-Commit (2605.26606),
    which leans towards hard prompts on purpose. Rows kept out leave the loss denominator.

    Known bias: which groups enter depends on their rewards.

    Attributes:
        low: lowest mean outcome admitted.
        high: highest mean outcome admitted.

    Raises:
        ConfigError: unless low <= high.
    """

    low: float = 0.125
    high: float = 0.75

    def __post_init__(self) -> None:
        check_band("Band", self.low, self.high)

    def __call__(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return bool (P,)."""
        return inside(seen.mean(), self.low, self.high)


def inside(mean: FloatArray, low: float, high: float) -> npt.NDArray[np.bool_]:
    """Return bool (P,): the mean lies in [low, high] up to rounding; False where it is NaN."""
    return (mean >= low - ROUNDING) & (mean <= high + ROUNDING)


def check_band(owner: str, low: float, high: float) -> None:
    """Raise `ConfigError` unless low <= high."""
    if not low <= high:
        raise ConfigError(f"{owner}(low={low!r}, high={high!r}): use low <= high, as 0.125 and 0.75")


RULES["band"] = Band()
declare(
    "difficulty-band",
    About(
        paper="online difficulty filtering, arXiv 2504.03380 (the filter, without its refill)",
        idea="n rollouts of every prompt; only groups of middling success rate train",
        saves="updates on prompts that are nearly solved or nearly out of reach",
        costs="rollouts of the groups kept out",
        bias="which prompts train depends on their rewards",
        status="decision",
    ),
    lambda: {"gate": Band()},
)
