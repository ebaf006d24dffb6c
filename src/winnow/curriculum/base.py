"""The seam between a step and a curriculum rule: which of the prompts at hand get rollouts at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray

RULES: dict[str, Callable[..., Curriculum]] = {}


@dataclass(frozen=True, slots=True)
class Choice:
    """The prompts a step opens.

    Attributes:
        opened: int64 (K,) positions among the candidates, each once, in the order in which the allocation sees them.
        visited: how many candidates count as seen; those after them come again first in the next step.
        weights: float64 (K,) multipliers of the loss of a prompt's rollouts, or None for 1.
    """

    opened: IntArray
    visited: int
    weights: FloatArray | None = None


class Curriculum(Protocol):
    """A rule that chooses prompts before anything is generated."""

    @property
    def oversample(self) -> int:
        """Candidates a host has to offer for each prompt wanted, at least 1."""
        ...

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return at least one and at most ``wanted`` of the candidates; must not change what the rule remembers."""
        ...


@dataclass(frozen=True, slots=True)
class Uniform:
    """Open the first prompts offered: whatever order the host gives them is the curriculum."""

    @property
    def oversample(self) -> int:
        """One candidate per prompt."""
        return 1

    def choose(self, candidates: Candidates, wanted: int, rng: np.random.Generator) -> Choice:
        """Return the first ``wanted``."""
        return Choice(np.arange(min(wanted, len(candidates))), wanted)


RULES["uniform"] = Uniform


def check_oversample(owner: str, value: int) -> None:
    """Raise `ConfigError` unless value is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ConfigError(f"{owner}(oversample={value!r}): use a whole number >= 1")


def first_passing(passes: IntArray, wanted: int, size: int) -> Choice:
    """Open the first ``wanted`` of the positions that pass a test, visiting no candidate beyond the last of them.

    Args:
        passes: ascending positions that pass. If none does, the first candidate is opened: a step needs one.
        wanted: the most to open.
        size: number of candidates.
    """
    if not len(passes):
        return Choice(np.zeros(1, np.int64), size)
    opened = passes[:wanted]
    return Choice(opened, int(opened[-1]) + 1 if len(opened) == wanted else size)


def best(scores: FloatArray, wanted: int, rng: np.random.Generator) -> Choice:
    """Open the ``wanted`` candidates with the highest scores, in the order offered; equal scores fall at random."""
    order = np.lexsort((rng.permutation(len(scores)), -scores))
    return Choice(np.sort(order[:wanted]), len(scores))
