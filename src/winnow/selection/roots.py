"""Train on what began at the prompt, and on nothing that was drawn to judge it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.groups import IntArray
from winnow.selection.base import PARTS, Selection


@dataclass(frozen=True, slots=True)
class Roots:
    """Keep the rollouts that did not branch off others.

    Attributes:
        m: how many of them each prompt has, for `winnow.plan`; it changes nothing.

    Complexity: O(N).
    """

    m: int = 2
    needs = ("depth",)

    @property
    def name(self) -> str:
        """``roots``."""
        return "roots"

    def __call__(
        self, rewards: npt.ArrayLike, groups: npt.ArrayLike, rng: np.random.Generator, *, depth: IntArray
    ) -> Selection:
        """Return the rows of depth 0."""
        rows = np.flatnonzero(depth == 0)
        return Selection(rows, np.ones(len(rows)))


PARTS["roots"] = Roots
