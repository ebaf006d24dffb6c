"""Rollouts that branch off others: which continues which, from where, and what each stretch of tokens led to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow.groups import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Fork:
    """A place to continue from.

    Attributes:
        row: the rollout, a position in the order told.
        cut: how many of its own tokens are kept, those before it being kept in any case.
    """

    row: int
    cut: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """A finished rollout in its tree.

    Attributes:
        prompt: its prompt, as the step numbers open prompts.
        fork: where it branched off, or None for one that began at the prompt.
        length: its own tokens, those of the rollouts it continues not counted.
        outcome: the verifier's verdict; NaN where unscorable.
        depth: 0 at the prompt, else one more than the rollout it branched off.
    """

    prompt: int
    fork: int | None
    length: int
    outcome: float
    depth: int


class Tree:
    """The rollouts of a step and the places at which they branch.

    Rollouts are told with a "prompt" number: below ``prompts`` it is a prompt, from there on a fork, in the order in
    which `fork` made them.

    Args:
        prompts: open prompts of the step.
    """

    def __init__(self, prompts: int) -> None:
        self.prompts = prompts
        self.forks: list[Fork] = []
        self.leaves: list[Leaf] = []
        self._place: dict[Fork, int] = {}
        self._cuts: list[list[int]] = []

    def fork(self, row: int, cut: int) -> int:
        """Return the number under which to ask for continuations of ``row`` after ``cut`` of its own tokens.

        Raises:
            ValueError: if the rollout is not told yet, or ``cut`` is not inside it.
        """
        if not 0 <= row < len(self.leaves) or not 0 <= cut < self.leaves[row].length:
            length = self.leaves[row].length if 0 <= row < len(self.leaves) else "unknown"
            raise ValueError(f"fork of rollout {row} at {cut}: it has length {length}, a cut lies inside it")
        place = Fork(row, cut)
        if place not in self._place:
            self._place[place] = len(self.forks)
            self.forks.append(place)
        return self.prompts + self._place[place]

    def root(self, numbers: IntArray) -> IntArray:
        """Return the prompts (k,) behind numbers told: of a fork, that of the rollout it is on."""
        roots = numbers.copy()
        for place in np.flatnonzero(numbers >= self.prompts).tolist():
            roots[place] = self.leaves[self.forks[int(numbers[place]) - self.prompts].row].prompt
        return roots

    def add(self, numbers: IntArray, outcomes: FloatArray, lengths: IntArray) -> None:
        """Record rollouts in the order told."""
        for number, outcome, length in zip(numbers.tolist(), outcomes.tolist(), lengths.tolist(), strict=True):
            if number < self.prompts:
                self.leaves.append(Leaf(number, None, length, outcome, 0))
            else:
                above = self.leaves[self.forks[number - self.prompts].row]
                self.leaves.append(Leaf(above.prompt, number - self.prompts, length, outcome, above.depth + 1))

    def cuts(self) -> list[list[int]]:
        """Return for every rollout its forks, by where they cut; forks without rollouts are left out."""
        if len(self._cuts) != len(self.leaves):
            used = {leaf.fork for leaf in self.leaves if leaf.fork is not None}
            self._cuts = [[] for _ in self.leaves]
            for number in sorted(used, key=lambda number: self.forks[number].cut):
                self._cuts[self.forks[number].row].append(number)
        return self._cuts

    def begin(self, row: int) -> tuple[int, int] | None:
        """Return where a rollout branched off: the rollout above and the place among its forks; None at the prompt."""
        fork = self.leaves[row].fork
        if fork is None:
            return None
        above = self.forks[fork].row
        return above, self.cuts()[above].index(fork)

    def ends(self) -> list[IntArray]:
        """Return for every rollout where its stretches end, in its own tokens: at its forks, and at its length."""
        return [
            np.array([*(self.forks[fork].cut for fork in forks), leaf.length], np.int64)
            for leaf, forks in zip(self.leaves, self.cuts(), strict=True)
        ]


def values(tree: Tree) -> tuple[FloatArray, list[FloatArray], FloatArray]:
    """Return what the nodes of a tree are worth: the mean outcome of the finished rollouts below each.

    Returns:
        of every prompt (P,); of every rollout, the values of its forks in the order of `Tree.cuts`; and of every
        rollout its own outcome (N,). NaN where nothing below is scorable.

    Complexity: O(N + forks).
    """
    size = len(tree.leaves)
    outcome = np.array([leaf.outcome for leaf in tree.leaves], np.float64)
    cuts = tree.cuts()
    children: dict[int, list[int]] = {}
    for row, leaf in enumerate(tree.leaves):
        if leaf.fork is not None:
            children.setdefault(leaf.fork, []).append(row)
    total, count = np.zeros(size), np.zeros(size)
    at_fork: list[FloatArray] = [np.zeros(0)] * size
    # A rollout is told after the one it continues, so going backwards meets what is below a node before the node.
    for row in range(size - 1, -1, -1):
        finite = np.isfinite(outcome[row])
        below, scorable = (float(outcome[row]) if finite else 0.0), float(finite)
        worth = np.zeros(len(cuts[row]))
        for place in range(len(cuts[row]) - 1, -1, -1):
            for child in children[cuts[row][place]]:
                below, scorable = below + total[child], scorable + count[child]
            worth[place] = below / scorable if scorable else np.nan
        total[row], count[row], at_fork[row] = below, scorable, worth
    roots = [row for row, leaf in enumerate(tree.leaves) if leaf.fork is None]
    owner = np.array([tree.leaves[row].prompt for row in roots], np.int64)
    weight = np.bincount(owner, weights=count[roots], minlength=tree.prompts)
    with np.errstate(invalid="ignore"):
        prompt = np.bincount(owner, weights=total[roots], minlength=tree.prompts) / weight
    return prompt, at_fork, outcome
