"""What a host has to know of a recipe before it begins a step."""

from __future__ import annotations

from winnow.advantage import Part as Advantage
from winnow.allocation import Allocation, Branches
from winnow.columns import ALWAYS, needed, wanted
from winnow.curriculum import Curriculum
from winnow.feedback import Remembers
from winnow.gating import Gate
from winnow.recall import Repo
from winnow.selection import Part as Selection


class Traits:
    """Properties of a recipe that follow from its parts."""

    curriculum: Curriculum
    allocation: Allocation
    gate: str | Gate
    selection: Selection
    advantage: Advantage
    recall: Repo | None

    @property
    def barrier(self) -> bool:
        """True if the allocation decides round by round, False if it can use each result as it comes."""
        return self.allocation.barrier

    @property
    def pool(self) -> int:
        """Prompts a host draws for every prompt of a step.

        Above 1 where the curriculum or the allocation chooses among prompts (`oversample`), or the allocation keeps
        spares (`Refill`), which may take further rollouts.
        """
        return self.oversample * int(getattr(self.allocation, "pool", 1))

    @property
    def oversample(self) -> int:
        """Candidates for every prompt that the budget of a step counts."""
        return self.curriculum.oversample * int(getattr(self.allocation, "oversample", 1))

    def counted(self, opened: int) -> int:
        """Return how many of the prompts that the curriculum opened the budget of a step counts, at least 1."""
        return max(1, opened * self.curriculum.oversample // self.oversample)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that `Step.tell` has to be given, see `winnow.columns`."""
        names = dict.fromkeys((*needed(self.selection), *needed(self.advantage)))
        return tuple(name for name in names if name not in ALWAYS)

    @property
    def branches(self) -> bool:
        """True if rollouts may continue others, which takes a host that can: see `Step.fork`."""
        return isinstance(self.allocation, Branches)

    @property
    def wants(self) -> tuple[str, ...]:
        """Columns that the curriculum learns from where `Step.tell` is given them; it does without where it is not."""
        return tuple(name for name in wanted(self.curriculum) if name not in self.needs)

    @property
    def remembers(self) -> bool:
        """True if a part learns about prompts from step to step, so that they need ids."""
        parts = (self.curriculum, self.allocation, self.gate, self.selection, self.advantage)
        return self.recall is not None or any(isinstance(part, Remembers) for part in parts)

    @property
    def compares(self) -> bool:
        """True if a part compares prompts by their features (it says so with ``compares = True``)."""
        return any(getattr(part, "compares", False) for part in (self.curriculum, self.allocation))
