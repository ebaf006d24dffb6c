"""Keep groups that have something to compare; the filter half of DAPO's dynamic sampling."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from winnow.observed import Observed


class Gate(Protocol):
    """A rule that admits groups: from what was observed to a mask bool (P,) over prompts."""

    def __call__(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return True for every prompt whose group enters."""
        ...


def everything(seen: Observed) -> npt.NDArray[np.bool_]:
    """Admit every group (``gate="none"``): groups without signal count in the loss denominator."""
    return np.ones(len(seen), bool)


def zero_signal(seen: Observed) -> npt.NDArray[np.bool_]:
    """Admit groups whose outcomes differ, max > min (DAPO, arXiv 2503.14476, without the refill).

    A group with fewer than two scorable rollouts has nothing to compare and is kept out too. The rows of groups
    kept out leave the loss denominator, so the step does not shrink with their number.

    Known bias: which groups enter depends on their rewards.
    """
    return seen.signal()


RULES: dict[str, Gate] = {"none": everything, "zero_signal": zero_signal}
