"""Rollouts of one prompt in one step, put together while a log streams by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from winnow.audit.log import Entry

MOST_OPEN = 4096
"""Groups open at once; beyond it the one begun first is closed."""


@dataclass
class Group:
    """The rollouts of one prompt in one step, as columns; what was not measured is NaN.

    Attributes:
        prompt_id: the prompt.
        step: the step, 0 in a pilot.
        rewards, judged, lengths: one number per rollout.
        digests: one hash per completion, equal where the texts are.
    """

    prompt_id: str
    step: int = 0
    rewards: list[float] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    digests: list[int] = field(default_factory=list)

    def add(self, entry: Entry, digest: int) -> None:
        """Append a rollout."""
        self.rewards.append(np.nan if entry.reward is None else entry.reward)
        self.judged.append(np.nan if entry.judged is None else entry.judged)
        self.lengths.append(float(entry.length))
        self.digests.append(digest)

    def scorable(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return rewards, judged values and lengths of the rollouts that have both a reward and a verdict."""
        table = np.array([self.rewards, self.judged, self.lengths], dtype=np.float64)
        return tuple(table[:, np.isfinite(table[:2]).all(axis=0)])


class Grouper:
    """Collects entries and hands out groups when they are complete: at the next step, or when too many are open.

    Memory: the columns of the groups of one step, `MOST_OPEN` groups at most. A group of a log in which more groups
    than that are interleaved comes in pieces.
    """

    def __init__(self) -> None:
        self._step: int | None = None
        self._open: dict[str, Group] = {}

    def add(self, entry: Entry, digest: int) -> Iterator[Group]:
        """Take an entry in; yield the groups that this closes."""
        if entry.step != self._step:
            yield from self.rest()
            self._step = entry.step
        group = self._open.get(entry.prompt_id)
        if group is None:
            if len(self._open) >= MOST_OPEN:
                yield self._open.pop(next(iter(self._open)))
            group = self._open[entry.prompt_id] = Group(entry.prompt_id, entry.step)
        group.add(entry, digest)

    def rest(self) -> Iterator[Group]:
        """Yield the groups still open, and forget them."""
        closing, self._open = self._open, {}
        yield from closing.values()


def digest(text: str) -> int:
    """Return a 64-bit hash of a text; two of ten million texts collide with a chance of 3 in a million."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
