"""Keep the groups that went on after a screening."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.gating.zero_signal import RULES
from winnow.observed import Observed


@dataclass(frozen=True, slots=True)
class Continued:
    """Admit groups with more than ``initial`` rollouts, unscorable ones included: those that were continued.

    The gate of allocations in two phases (`winnow.allocation.screening`): prompts that were screened and then turned
    away, or passed and were not needed, do not train. ``initial`` has to be that of the allocation; overriding the key
    in a recipe changes both. A short group of a budget below ``initial`` does not train.

    Known bias: that of the screening.

    Raises:
        ConfigError: if initial is not a whole number of at least 1.
    """

    initial: int = 4

    def __post_init__(self) -> None:
        if isinstance(self.initial, bool) or not isinstance(self.initial, int | np.integer) or self.initial < 1:
            raise ConfigError(f"Continued(initial={self.initial!r}): use a whole number >= 1")

    def __call__(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return bool (P,)."""
        return seen.told > self.initial


RULES["continued"] = Continued()
