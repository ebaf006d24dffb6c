"""Fixed trees of rollouts: continue what was drawn from inside it, so that siblings share a beginning."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from winnow.about import About, declare
from winnow.advantage import Segments
from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count, share_out
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.groups import IntArray, rank_within
from winnow.observed import Observed
from winnow.tree import Tree


@dataclass(frozen=True, slots=True)
class Branch:
    """Draw ``roots`` rollouts of a prompt, then ``levels`` times continue every rollout so far ``width`` times.

    At level l of L a rollout is cut after ``floor(length l / (L + 1))`` of its own tokens, and its continuations start
    there. That makes ``roots (1 + width)^levels`` finished rollouts per prompt, of which all but the roots generate
    only what follows the cut. The tree idea is BranchGRPO's (arXiv 2509.06040, for diffusion models); cuts by length
    are ours.

    A budget that ends inside a level is given to one rollout of each prompt after the other; one above the tree is left
    over, and the step says so. Under a token budget levels go on until the tokens are spent or the tree is complete.

    Known bias: none beyond that of the advantage; the tree does not depend on rewards.

    Attributes:
        roots: rollouts that begin at the prompt.
        levels: how often everything branches.
        width: continuations of each rollout per level.

    Raises:
        ConfigError: if a setting is not a whole number of at least 1.
    """

    roots: int = 2
    levels: int = 2
    width: int = 1

    def __post_init__(self) -> None:
        for name in ("roots", "levels", "width"):
            check_count("Branch", name, getattr(self, name), 1)
        if self.levels * math.log2(1 + self.width) > 20:
            raise ConfigError(
                f"Branch(levels={self.levels}, width={self.width}): a tree of more than a million rollouts"
            )

    @property
    def barrier(self) -> bool:
        """A level needs the one before."""
        return True

    @property
    def n(self) -> int:
        """Finished rollouts per prompt."""
        return self.roots * int((1 + self.width) ** self.levels)

    @property
    def largest(self) -> int:
        """Every prompt gets n."""
        return self.n

    def with_n(self, n: int) -> Branch:
        """Return the rule with as many roots as make n.

        Raises:
            ConfigError: if none do.
        """
        each = self.n // self.roots
        if n % each or n < each:
            raise ConfigError(f"n={n}: with levels={self.levels} and width={self.width} n is a multiple of {each}")
        return replace(self, roots=n // each)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Refuse: a tree needs a step that can branch."""
        raise ConfigError("Branch continues rollouts: begin its steps with Recipe.begin, in a host that can branch")

    def grow(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator, tree: Tree) -> Allocator:
        """Start a step."""
        return _Growing(self, len(prompts), tree)


class _Growing:
    def __init__(self, rule: Branch, prompts: int, tree: Tree) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._prompts = prompts
        self._tree = tree
        self._level = 0

    def next(self, seen: Observed, left: int | None) -> Grant:
        if self.finished or (seen.told < seen.granted).any():
            return NOTHING
        rule, level, self._level = self._rule, self._level, self._level + 1
        self.finished = level == rule.levels
        self.reason = f"each of the {self._prompts} prompts has its tree of n={rule.n} rollouts"
        if level == 0:
            total = self._prompts * rule.roots
            return share_out(total if left is None else min(total, left), np.arange(self._prompts))
        cuts = [leaf.length * level // (rule.levels + 1) for leaf in self._tree.leaves]
        forks = np.array([self._tree.fork(row, cut) for row, cut in enumerate(cuts) if cut or level], np.int64)
        owner = self._tree.root(forks)
        order = np.lexsort((owner, rank_within(owner)))
        return Grant(forks[order], np.full(len(forks), rule.width, np.int64))

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        pass


RULES["branch"] = Branch


declare(
    "branch",
    About(
        paper="after BranchGRPO, arXiv 2509.06040",
        idea="a fixed tree of rollouts; every stretch of tokens is compared with the others of its depth",
        saves="generated tokens: siblings share their beginning; credit to parts of a rollout",
        costs="siblings are alike; levels in sequence",
        bias="normalised per depth: easy and hard prompts count too much, as in GRPO",
        status="decision",
    ),
    lambda: {"allocation": Branch(), "advantage": Segments("depth")},
)
