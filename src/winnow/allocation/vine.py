"""VinePPO: judge the stretches of a rollout by fresh continuations from their borders."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from winnow.about import About, declare
from winnow.advantage import Segments
from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count, share_out
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.groups import IntArray, rank_within
from winnow.observed import Observed
from winnow.selection import Roots
from winnow.tree import Tree


@dataclass(frozen=True, slots=True)
class Vine:
    """Draw ``roots`` rollouts of each prompt and ``k`` continuations from each of ``steps`` borders in each.

    The value of a border is the mean outcome of its continuations, which are not trained on (VinePPO, arXiv
    2410.01679, with K = 1, 3 and 9). Its borders are those of reasoning steps; here a rollout is cut into ``steps``
    stretches of equal length, the first border being the prompt (ours: text of any form has a length).

    Continuations are part of the budget. One that ends before all borders have theirs goes to one border of each
    rollout after the other; one above the tree is left over, and the step says so.

    Known bias: none from the estimates, which are independent of the rollout they judge.

    Attributes:
        roots: rollouts that train.
        steps: stretches of each.
        k: continuations per border.

    Raises:
        ConfigError: if a setting is not a whole number of at least 1.
    """

    roots: int = 2
    steps: int = 3
    k: int = 1

    def __post_init__(self) -> None:
        for name in ("roots", "steps", "k"):
            check_count("Vine", name, getattr(self, name), 1)

    @property
    def barrier(self) -> bool:
        """Borders are known once a rollout is finished; all are waited for."""
        return True

    @property
    def n(self) -> int:
        """Rollouts per prompt, continuations included."""
        return self.roots * (1 + self.steps * self.k)

    @property
    def largest(self) -> int:
        """Every prompt gets n."""
        return self.n

    def with_n(self, n: int) -> Vine:
        """Return the rule with as many roots as make n.

        Raises:
            ConfigError: if none do.
        """
        each = 1 + self.steps * self.k
        if n % each or n < each:
            raise ConfigError(f"n={n}: with steps={self.steps} and k={self.k} n is a multiple of {each}")
        return replace(self, roots=n // each)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Refuse: continuations need a step that can branch."""
        raise ConfigError("Vine continues rollouts: begin its steps with Recipe.begin, in a host that can branch")

    def grow(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator, tree: Tree) -> Allocator:
        """Start a step."""
        return _Judging(self, len(prompts), tree)


class _Judging:
    def __init__(self, rule: Vine, prompts: int, tree: Tree) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._prompts = prompts
        self._tree = tree
        self._started = False

    def next(self, seen: Observed, left: int | None) -> Grant:
        if self.finished or (seen.told < seen.granted).any():
            return NOTHING
        rule = self._rule
        if not self._started:
            self._started = True
            total = self._prompts * rule.roots
            return share_out(total if left is None else min(total, left), np.arange(self._prompts))
        self.finished = True
        self.reason = f"each of the {self._prompts} prompts has its n={rule.n} rollouts"
        leaves = self._tree.leaves
        borders = [sorted({leaf.length * step // rule.steps for step in range(rule.steps)}) for leaf in leaves]
        forks = np.array([self._tree.fork(row, cut) for row, cuts in enumerate(borders) for cut in cuts], np.int64)
        counts = [rule.k + (rule.steps - len(cuts)) * rule.k * (cut == cuts[-1]) for cuts in borders for cut in cuts]
        row = np.repeat(np.arange(len(leaves)), [len(cuts) for cuts in borders])
        order = np.lexsort((row, rank_within(row)))
        return Grant(forks[order], np.array(counts, np.int64)[order])

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        pass


RULES["vine"] = Vine


declare(
    "vineppo",
    About(
        paper="VinePPO, arXiv 2410.01679",
        idea="the value of a prefix is the mean outcome of fresh continuations; advantages are differences of values",
        saves="nothing; credit to parts of a rollout without a critic",
        costs="most of the generation only judges: steps x k continuations per rollout that trains",
        bias="none from the estimates",
        status="decision",
    ),
    lambda: {"allocation": Vine(), "selection": Roots(), "advantage": Segments("vine")},
)
