"""Knapsack: spend rollouts where they are most likely to bring signal that teaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.knapsack_buffer import WIDEST, Buffer
from winnow.allocation.knapsack_value import need, rises, value
from winnow.allocation.marginal import evenly, split
from winnow.allocation.marginal_plan import Planned
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Knapsack:
    """Split the rollouts of a step for the largest expected value (Knapsack RL, arXiv 2509.25849, and its code).

    n rollouts of a prompt with pass rate p are worth ``(1 - p^n - (1-p)^n) p (1-p)^2``: the chance of a group with
    signal times what it teaches. p is the share of successes among the prompt's last ``window`` outcomes; fewer than
    ``known`` leave it unknown.

    In a step of C rollouts over P prompts, unknown prompts get ``C // P``, those with p = 0 or p = 1 get 2, and those
    in between 2 to ``most``, for the largest sum of values. From n = 1 on each rollout adds less than the one before
    (rollout n + 1 adds ``p^n (1-p) + (1-p)^n p``, which falls with n), so the greedy split is optimal and replaces the
    authors' dynamic program. If the prompts in between need fewer rollouts than are left for them, ``log(1 -
    confidence) / log max(p, 1-p)`` each, the surplus goes evenly to the prompts with p = 0, up to ``most``. What then
    still is left goes to all prompts evenly.

    Ours: rates count outcomes above one half; the rollouts of one step enter the window with right and wrong ones
    mixed evenly, so that the order in which they came does not matter; with less than 2 rollouts per prompt, pairs go
    to the prompts in between by value, then to unknown ones, p = 0, p = 1, and a single one left over to the first.
    Under a token budget the plan is for ``n`` per prompt and repeats until the tokens are spent. Ties fall to the
    prompt with fewest rollouts, then to the lowest index. Unscorable rollouts are in no window.

    Known bias: none within a group, whose size is fixed before its rewards are seen; prompts with more rollouts pull
    more (the recipe's ``weight`` is that of GRPO).

    Attributes:
        n: rollouts per prompt that a step without a budget draws on average.
        most: most rollouts that the plan gives a prompt, at least n; a surplus is shared out beyond it.
        window: outcomes remembered of each prompt, 1 to 52.
        known: outcomes needed to know the pass rate, at most ``window``.
        confidence: chance of signal that the estimated need aims at.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(P most log(P most)) for a plan. Memory: two numbers per prompt seen.
    """

    n: int = 8
    most: int = 128
    window: int = 16
    known: int = 8
    confidence: float = 0.9
    _buffer: Buffer = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_count("Knapsack", "n", self.n, 2)
        check_count("Knapsack", "most", self.most, self.n)
        check_count("Knapsack", "known", self.known, 1)
        check_count("Knapsack", "window", self.window, self.known)
        if self.window > WIDEST:
            raise ConfigError(f"Knapsack(window={self.window}): use at most {WIDEST}")
        if not 0 < self.confidence < 1:
            raise ConfigError(f"Knapsack(confidence={self.confidence!r}): use a chance between 0 and 1, as 0.9")
        object.__setattr__(self, "_buffer", Buffer(self.window))

    @property
    def largest(self) -> int:
        """A prompt gets at most this many."""
        return self.most

    @property
    def barrier(self) -> bool:
        """One wave: there is nothing to wait for."""
        return True

    def with_n(self, n: int) -> Knapsack:
        """Return the rule with another n."""
        return replace(self, n=n)

    def plan(self, rates: FloatArray, total: int) -> IntArray:
        """Return int64 (P,) counts that sum to ``total``, for pass rates (P,) that are NaN where unknown."""
        size = len(rates)
        unknown, hopeless = np.isnan(rates), rates == 0
        mixed = np.flatnonzero((rates > 0) & (rates < 1))
        if total < 2 * size:
            rank = np.select([unknown, hopeless, rates == 1], [2.0, 1.0, 0.0], 3 + value(rates, 2))
            return split(total, 2, self.most, lambda n: np.zeros((size, len(n))), rank)
        counts = np.where(unknown, total // size, 2)
        counts[mixed] = 0
        spare = total - int(counts.sum())
        wanted = spare
        if hopeless.any():
            needs = np.clip(need(rates[mixed], self.confidence), 2, self.most)
            wanted = min(spare, int(needs.sum()))
        wanted = min(wanted, len(mixed) * self.most)
        if len(mixed):
            chosen = rates[mixed]
            counts[mixed] = split(wanted, 2, self.most, lambda n: rises(chosen, n), value(chosen, 2))
        surplus = spare - wanted
        tried = min(surplus, int(hopeless.sum()) * (self.most - 2))
        counts[hopeless] += evenly(tried, int(hopeless.sum()))
        return counts + evenly(surplus - tried, size)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        rates = self._buffer.rates(prompts.ids, self.known)
        return Planned(lambda total: self.plan(rates, total), len(prompts) * self.n)

    def observe(self, feedback: Feedback) -> None:
        """Put the step's outcomes into the windows of its prompts."""
        self._buffer.push(feedback.prompts.ids, feedback.successes, feedback.valid)

    def state_dict(self) -> dict[str, Any]:
        """Return the windows."""
        return self._buffer.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._buffer.load_state_dict(state)


RULES["knapsack"] = Knapsack
declare(
    "knapsack",
    About(
        paper="Knapsack RL, arXiv 2509.25849",
        idea="plan each step for the largest chance of signal times what it teaches, up to 128 rollouts for one prompt",
        saves="rollouts on prompts that were solved at their last visits",
        costs="pass rates are an epoch old; the first epoch is uniform",
        bias="none within a group; prompts with more rollouts pull more",
        status="decision",
    ),
    lambda: {"allocation": Knapsack()},
)
