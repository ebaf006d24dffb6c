"""TRACE: first roots, then forks of finished rollouts, wherever outcomes are most likely to differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.advantage import Segments
from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count, share_out
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory
from winnow.observed import Observed
from winnow.tree import Tree


@dataclass(frozen=True, slots=True)
class Trace:
    """Give each rollout to the place where it is likeliest to bring a contrast (after TRACE, arXiv 2606.11119).

    A place with success rate p and j rollouts gains ``p^j (1 - p) + (1 - p)^j p`` in P(outcomes differ) from one more.
    Stage 1 spends the share ``first`` of the budget on prompts, 2 each and then always the largest gain. Stage 2 spends
    the rest on cuts inside finished rollouts, again by largest gain, with the rollout that passes through counted as
    the first; at most ``children`` continuations per cut, and at most ``forks`` of a rollout's ``anchors`` evenly
    spaced cuts. Ties fall to the lower prompt, then to the earlier rollout and cut.

    The paper has a trained predictor of success at a prefix and does not state its rules; all of this is ours. Here p
    of a prompt is the mean of a Beta(1, 1) posterior over this and earlier steps (forgotten at ``forget`` per step),
    and p at a cut after the share f of a rollout with outcome o is ``(1 - f) p + f o``.

    When all cuts are full the rest goes to the prompts evenly, so a budget in rollouts is spent exactly. A token budget
    counts as n per prompt in stage 1; stage 2 goes on until the tokens are spent or all cuts are full.

    Known bias: which places get rollouts depends on rewards.

    Complexity: O(R log R) for R rollouts.

    Raises:
        ConfigError: if a setting is out of range.
    """

    n: int = 8
    first: float = 0.5
    anchors: int = 3
    forks: int = 2
    children: int = 2
    forget: float = 0.9
    _seen: Memory = field(default_factory=lambda: Memory(wins=0, losses=0), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_count("Trace", "n", self.n, 3)
        for name in ("anchors", "forks", "children"):
            check_count("Trace", name, getattr(self, name), 1)
        if not 0 < self.first <= 1:
            raise ConfigError(f"Trace(first={self.first!r}): use a share in (0, 1], as 0.5")
        if not 0 <= self.forget <= 1:
            raise ConfigError(f"Trace(forget={self.forget!r}): use a factor in [0, 1], as 0.9")

    @property
    def barrier(self) -> bool:
        """Stage 2 looks at all of stage 1."""
        return True

    @property
    def largest(self) -> int:
        """No prompt is sure of fewer than all that is left."""
        return self.n * 4

    def with_n(self, n: int) -> Trace:
        """Return the rule with another n."""
        return replace(self, n=n)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Refuse: forks need a step that can branch."""
        raise ConfigError("Trace continues rollouts: begin its steps with Recipe.begin, in a host that can branch")

    def grow(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator, tree: Tree) -> Allocator:
        """Start a step."""
        wins, losses = self._seen.get("wins", prompts.ids), self._seen.get("losses", prompts.ids)
        return _Tracing(self, wins, losses, rollouts, tree)

    def observe(self, feedback: Feedback) -> None:
        """Add the step's outcomes to the posteriors of its prompts, and forget a little of what was there."""
        ids = feedback.prompts.ids
        for name, new in (("wins", feedback.successes), ("losses", feedback.valid - feedback.successes)):
            self._seen.set(name, ids, self.forget * self._seen.get(name, ids) + new)

    def state_dict(self) -> dict[str, Any]:
        """Return the posteriors."""
        return self._seen.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._seen.load_state_dict(state)


DEEPEST = 256
"""Rollouts of one prompt beyond which one more gains nothing worth ranking; what is left is shared out evenly."""


def gains(rate: FloatArray, had: IntArray | int, count: int) -> FloatArray:
    """Return the gains (K, count) of the next ``count`` rollouts at places with success rates (K,).

    Args:
        rate: success rates.
        had: rollouts there already.
        count: how many further ones to look at.
    """
    j = np.asarray(had)[..., None] + np.arange(count)
    p = rate[:, None]
    return p**j * (1 - p) + (1 - p) ** j * p


class _Tracing:
    def __init__(self, rule: Trace, wins: FloatArray, losses: FloatArray, rollouts: int | None, tree: Tree) -> None:
        self.finished = False
        self.reason = ""
        self._rule, self._wins, self._losses, self._tree = rule, wins, losses, tree
        self._roots = max(2 * len(wins), round(rule.first * (rollouts or rule.n * len(wins))))
        self._stage = 0

    def next(self, seen: Observed, left: int | None) -> Grant:
        if self.finished or (seen.told < seen.granted).any():
            return NOTHING
        self._stage += 1
        if self._stage == 1:
            return self._plant(self._roots if left is None else min(self._roots, left))
        self.finished = True
        self.reason = "every cut has its continuations"
        return self._branch(seen, left)

    def _plant(self, total: int) -> Grant:
        prompts = len(self._wins)
        rate = (self._wins + 1) / (self._wins + self._losses + 2)
        counts = np.full(prompts, min(2, total // prompts), np.int64)
        rest = total - int(counts.sum())
        width = min(rest, DEEPEST)
        table = gains(rate, counts, width) if rest else np.zeros((prompts, 0))
        best = np.argsort(-table, axis=None, kind="stable")[:rest]
        np.add.at(counts, best // max(1, width), 1)
        beyond = share_out(total - int(counts.sum()), np.arange(prompts))
        counts[beyond.prompts] += beyond.counts
        drawn = np.flatnonzero(counts)
        return Grant(drawn, counts[drawn])

    def _branch(self, seen: Observed, left: int | None) -> Grant:
        rule, leaves = self._rule, self._tree.leaves
        wins, losses = self._wins + seen.successes, self._losses + seen.valid - seen.successes
        rate = (wins + 1) / (wins + losses + 2)
        places = [
            (row, cut, (1 - cut / leaf.length) * rate[leaf.prompt] + cut / leaf.length * (leaf.outcome > 0.5))
            for row, leaf in enumerate(leaves)
            if np.isfinite(leaf.outcome)
            for cut in sorted({leaf.length * anchor // (rule.anchors + 1) for anchor in range(1, rule.anchors + 1)})
            if cut
        ]
        if not places:
            return share_out(left, np.arange(len(rate))) if left else NOTHING
        row = np.array([place[0] for place in places])
        table = gains(np.array([place[2] for place in places], np.float64), 1, rule.children)
        order = np.lexsort((-table[:, 0], row))
        rank = np.empty(len(row), np.int64)
        rank[order] = np.arange(len(row)) - np.searchsorted(row[order], row[order])
        open_places = np.flatnonzero(rank < rule.forks)
        flat = np.argsort(-table[open_places], axis=None, kind="stable")[: None if left is None else left]
        counts = np.bincount(open_places[flat // rule.children], minlength=len(places))
        used = np.flatnonzero(counts)
        forks = np.array([self._tree.fork(*places[k][:2]) for k in used], np.int64)
        rest = share_out(0 if left is None else left - int(counts.sum()), np.arange(len(rate)))
        return Grant(np.concatenate((forks, rest.prompts)), np.concatenate((counts[used], rest.counts)))

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        pass


RULES["trace"] = Trace


declare(
    "trace",
    About(
        paper="after TRACE, arXiv 2606.11119",
        idea="roots for uncertain prompts, then continuations from cuts where the outcome is still open",
        saves="generated tokens; contrasts where the rollouts part",
        costs="two waves in sequence; siblings share their beginning",
        bias="where rollouts go depends on rewards",
        status="decision",
    ),
    lambda: {"allocation": Trace(), "advantage": Segments("value")},
)
