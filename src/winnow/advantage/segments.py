"""What the stretches of branching rollouts are worth: rules from a tree to one advantage per stretch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.advantage.base import PARTS
from winnow.advantage.centred import centred
from winnow.errors import unknown
from winnow.groups import FloatArray
from winnow.tree import Tree, values

Rule = Callable[[Tree], list[FloatArray]]


def value_steps(tree: Tree) -> list[FloatArray]:
    """Return for each stretch the value where it ends minus the value where it began.

    A value is the mean outcome of all finished rollouts below a node; a rollout ends in its own outcome. Along a path
    the stretches add up to the outcome minus the mean of the prompt (after TRACE, arXiv 2606.11119, which does not
    state its rule: ours). Known bias: a node's mean counts the stretch's own rollouts, so a value difference is pulled
    towards 0, as in mean-centring. Rollouts that are unscorable get 0.
    """
    prompt, at_fork, outcome = values(tree)
    found = []
    for row, leaf in enumerate(tree.leaves):
        path = np.concatenate(([_start(tree, row, prompt, at_fork)], at_fork[row], [outcome[row]]))
        steps = np.diff(path)
        found.append(np.where(np.isfinite(steps), steps, 0.0) if np.isfinite(leaf.outcome) else np.zeros(len(steps)))
    return found


def depth_scores(tree: Tree) -> list[FloatArray]:
    """Return for each stretch the z-score of its end's value among the stretches of its depth (after 2509.06040).

    Depth is the number of forks passed since the prompt. The deviation is the population's, plus 1e-8; depths with one
    stretch, or with a deviation below 1e-6, get 0. BranchGRPO does this for diffusion; on text it is ours.
    """
    _, at_fork, outcome = values(tree)
    worth = [np.concatenate((at_fork[row], [outcome[row]])) for row in range(len(tree.leaves))]
    before = [_forks_before(tree, row) for row in range(len(tree.leaves))]
    owner = np.concatenate([np.full(len(w), tree.leaves[row].prompt) for row, w in enumerate(worth)])
    depth = np.concatenate([before[row] + np.arange(len(w)) for row, w in enumerate(worth)])
    flat = np.concatenate(worth)
    scores = np.zeros(len(flat))
    for key in {*zip(owner.tolist(), depth.tolist(), strict=True)}:
        here = np.flatnonzero((owner == key[0]) & (depth == key[1]) & np.isfinite(flat))
        spread = flat[here].std() if len(here) > 1 else 0.0
        if spread >= 1e-6:
            scores[here] = (flat[here] - flat[here].mean()) / (spread + 1e-8)
    return np.split(scores, np.cumsum([len(w) for w in worth])[:-1])


def estimated_steps(tree: Tree) -> list[FloatArray]:
    """Return VinePPO's advantages: differences of values estimated from fresh continuations alone (2410.01679).

    The value at a fork is the mean outcome of the rollouts drawn from it, without the rollout that passes through; the
    value at the prompt is that of a fork at 0 where there is one, else the mean of the prompt's other rollouts; at the
    end it is 0 and the outcome is paid. Rollouts that branched off serve as estimates and get 0 themselves.
    """
    drawn: dict[int, list[float]] = {}
    for leaf in tree.leaves:
        if leaf.fork is not None and np.isfinite(leaf.outcome):
            drawn.setdefault(leaf.fork, []).append(leaf.outcome)
    found = []
    for row, (leaf, forks) in enumerate(zip(tree.leaves, tree.cuts(), strict=True)):
        if leaf.fork is not None or not np.isfinite(leaf.outcome):
            found.append(np.zeros(len(forks) + 1))
            continue
        at = [float(np.mean(drawn[fork])) if drawn.get(fork) else np.nan for fork in forks]
        starts_measured = bool(forks) and tree.forks[forks[0]].cut == 0
        path = np.array([*([at[0]] if starts_measured else [_others(tree, row)]), *at, leaf.outcome])
        found.append(np.nan_to_num(np.diff(path)))
    return found


CREDIT: dict[str, Rule] = {"value": value_steps, "depth": depth_scores, "vine": estimated_steps}


@dataclass(frozen=True, slots=True)
class Segments:
    """An advantage per stretch of tokens between forks, for recipes that branch.

    Attributes:
        credit: ``value``, ``depth`` or ``vine``; see the functions of this module.

    Raises:
        ConfigError: for another name.
    """

    credit: str = "value"

    def __post_init__(self) -> None:
        if self.credit not in CREDIT:
            raise unknown("credit", self.credit, CREDIT)

    @property
    def name(self) -> str:
        """The rule's name, for logs."""
        return f"segments:{self.credit}"

    def steps(self, tree: Tree) -> list[FloatArray]:
        """Return, for every rollout, one advantage per stretch of its own tokens."""
        return CREDIT[self.credit](tree)

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike) -> FloatArray:
        """Return rewards minus the mean of their group: what is left of it where nothing branched."""
        return centred(rewards, groups)


PARTS["segments"] = Segments


def _start(tree: Tree, row: int, prompt: FloatArray, at_fork: list[FloatArray]) -> float:
    begin = tree.begin(row)
    return float(prompt[tree.leaves[row].prompt]) if begin is None else float(at_fork[begin[0]][begin[1]])


def _forks_before(tree: Tree, row: int) -> int:
    """Return how many forks a rollout's path has passed when it begins."""
    begin = tree.begin(row)
    return 0 if begin is None else _forks_before(tree, begin[0]) + begin[1] + 1


def _others(tree: Tree, row: int) -> float:
    mine = tree.leaves[row]
    others = [
        leaf.outcome
        for place, leaf in enumerate(tree.leaves)
        if place != row and leaf.prompt == mine.prompt and leaf.fork is None and np.isfinite(leaf.outcome)
    ]
    return float(np.mean(others)) if others else float(mine.outcome)
