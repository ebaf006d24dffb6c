"""The recipe named winnow: each rollout goes to the group to which it is expected to add most per unit of cost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.advantage.contrast import Contrast
from winnow.allocation.base import NOTHING, RULES, Allocator, Grant, check_count
from winnow.allocation.effect import Outlook, effect, outlook
from winnow.belief import Belief
from winnow.candidates import Candidates
from winnow.decisions import CLOSED, Decisions
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.objective.config import Objective
from winnow.observed import Observed
from winnow.selection.pairs import Pairs

STRENGTHS, LOGITS = 1.5, 0.5
"""Grid of the beliefs that a table is made for: ratio of strengths, and step of the mean in logits."""


@dataclass(frozen=True, slots=True)
class Winnow:
    """Spend every rollout where it is expected to teach most (ours; docs/winnow-recipe.md).

    A group teaches its `effect`; its *index* is the effect that further rollouts are expected to add, over what they
    and the rows that then train cost. A prompt is opened with as many rollouts as make its index largest. Once these
    are in, it waits with its new index, in competition with the other open prompts and with the next one that is not
    open yet, which counts with the rate of its `outlook`, and the best gets the next request. So a prompt closes when
    something else is worth more: soon after a success if it is easy, after its first contrast as a rule, after more
    failures the likelier it is to be solvable. Open prompts go before new ones where equal, lower numbers before
    higher.

    Candidates come in the order offered; those whose rate, by what they showed at earlier visits, is below ``skip``
    times that of a prompt never seen come last. While rollouts are in flight, as much of the budget is left for their
    prompts as these are expected to use.

    The budget is spent exactly while a group may grow; then the step says so. Unscorable rollouts count towards
    ``most`` alone. Under a token budget nothing is kept back.

    Known bias: none in direction. A decision about a prompt reads only outcomes of its complete requests, and what
    other prompts are worth, so given its outcomes its completions are drawn as ever; see `Contrast` for what follows.
    Which prompts still get rollouts when the budget ends may depend on how long others took.

    Attributes:
        n: mean rollouts per prompt of a step; their product is the budget.
        oversample: candidates per prompt of a step.
        most: largest group.
        noise: noise within a prompt over noise between prompts, see `winnow.allocation.effect`.
        price: cost of a trained row, in rollouts.
        retain: share of what a prompt showed that outlasts a visit.
        skip: share of the rate of an unknown prompt below which a candidate comes last.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(log P) per request, and a table of O(most^3) for each belief on a grid, kept from step to step.
    """

    n: int = 8
    oversample: int = 4
    most: int = 32
    noise: float = 0.67
    price: float = 1.0
    retain: float = 0.5
    skip: float = 0.25
    _belief: Belief = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_count("Winnow", "n", self.n, 2)
        check_count("Winnow", "oversample", self.oversample, 1)
        check_count("Winnow", "most", self.most, 2)
        if self.most > 256:
            raise ConfigError(f"Winnow(most={self.most}): tables grow with its square; use at most 256")
        if not 0 < self.noise < math.inf:
            raise ConfigError(f"Winnow(noise={self.noise!r}): use a finite number above 0, as 0.67")
        if not 0 <= self.price < math.inf:
            raise ConfigError(f"Winnow(price={self.price!r}): use a finite number >= 0, as 1")
        for name in ("retain", "skip"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Winnow({name}={getattr(self, name)!r}): use a number in [0, 1]")
        object.__setattr__(self, "_belief", Belief(self.retain))

    @property
    def largest(self) -> int:
        """No group is larger."""
        return self.most

    @property
    def barrier(self) -> bool:
        """Every result counts as it comes."""
        return False

    def with_n(self, n: int) -> Winnow:
        """Return the rule with another budget per prompt."""
        return replace(self, n=n)

    def outlook(self, a: float, b: float) -> Outlook:
        """Return the table of the belief on the grid that is nearest to Beta(a, b)."""
        strength = STRENGTHS ** round(math.log(a + b, STRENGTHS))
        mean = 1 / (1 + math.exp(-LOGITS * round(math.log(a / b) / LOGITS)))
        return outlook(mean * strength, (1 - mean) * strength, noise=self.noise, price=self.price, most=self.most)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        unknown = self.outlook(*self._belief.prior).rate
        a, b = self._belief.of(prompts.ids)
        tables = [self.outlook(*pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
        return _Indexed(self, a, b, tables, unknown)

    def observe(self, feedback: Feedback) -> None:
        """Learn what the prompts showed."""
        self._belief.observe(feedback)

    def state_dict(self) -> dict[str, Any]:
        """Return what is believed."""
        return self._belief.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._belief.load_state_dict(state)


class _Indexed:
    def __init__(self, rule: Winnow, a: FloatArray, b: FloatArray, tables: list[Outlook], unknown: float) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._unknown = unknown
        self._a, self._b, self._tables = a, b, tables
        first = np.array([table.rate for table in tables])
        self._order: list[int] = np.lexsort((np.arange(len(first)), first < rule.skip * unknown)).tolist()
        self._opened = 0
        self._waiting: list[tuple[float, int]] = []
        self._reserved: dict[int, float] = {}

    def expected(self, seen: Observed) -> FloatArray:
        """Return the pass rate (P,) expected of each prompt, this step's outcomes included."""
        return (self._a + seen.successes) / (self._a + self._b + seen.valid)

    def explain(self, seen: Observed) -> Decisions:
        """Return what each opened prompt was believed to be, got and taught, and why it got no more."""
        opened = np.flatnonzero(seen.told)
        right, valid = seen.successes[opened], seen.valid[opened]
        at = zip(opened.tolist(), right.tolist(), (valid - right).tolist(), strict=True)
        return Decisions(
            prompts=opened,
            before=(self._a / (self._a + self._b))[opened],
            rollouts=seen.told[opened],
            right=right,
            effect=effect(right, valid - right, 1 - self.expected(seen)[opened], self._rule.noise),
            closed=tuple(self._closed(*place) for place in at),
            rate=self._unknown,
        )

    def _closed(self, prompt: int, right: int, wrong: int) -> str:
        contrast, solved, no_success, out_of_budget = CLOSED
        if right + wrong < self._rule.most and self._tables[prompt].index[right, wrong] > self._unknown:
            return out_of_budget
        return contrast if right and wrong else solved if right else no_success

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return the request with the highest index; nothing where it is better to wait for results."""
        if self.finished:
            return NOTHING
        fresh = self._order[self._opened] if self._opened < len(self._order) else None
        value = -math.inf if fresh is None else self._tables[fresh].rate
        if self._waiting and (-self._waiting[0][0] >= value or (left == 1 and not self._reserved)):
            return self._grant(heapq.heappop(self._waiting)[1], seen, left)
        if fresh is not None and self._affordable(fresh, left):
            self._opened += 1
            return self._grant(fresh, seen, left)
        if self._waiting and not self._reserved:
            return self._grant(heapq.heappop(self._waiting)[1], seen, left)
        if not self._reserved and fresh is None:
            self.finished = True
            self.reason = f"all {len(self._order)} prompts have most={self._rule.most} rollouts"
        return NOTHING

    def _affordable(self, fresh: int, left: int | None) -> bool:
        if left is None or not self._reserved:
            return True
        return bool(left - sum(self._reserved.values()) >= self._tables[fresh].size[0, 0])

    def _grant(self, prompt: int, seen: Observed, left: int | None) -> Grant:
        table, right = self._tables[prompt], int(seen.successes[prompt])
        at = right, int(seen.valid[prompt]) - right
        room = self._rule.most - int(seen.granted[prompt])
        count = min(int(table.size[at]), room, room if left is None else left)
        self._reserved[prompt] = float(table.rest[at])
        return Grant(np.array([prompt]), np.array([count]))

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Let prompts whose requests are complete compete with their new index."""
        for prompt in np.unique(prompts).tolist():
            if seen.told[prompt] == seen.granted[prompt]:
                self._reserved.pop(prompt, None)
                if seen.granted[prompt] < self._rule.most:
                    right = int(seen.successes[prompt])
                    index = float(self._tables[prompt].index[right, int(seen.valid[prompt]) - right])
                    heapq.heappush(self._waiting, (-index, prompt))


RULES["winnow"] = Winnow
declare(
    "winnow",
    About(
        paper="ours",
        idea="give each rollout to the group it is expected to teach most per cost; train contrasts of log pass rates",
        saves="rollouts on solved and hopeless prompts, and rows that add no contrast",
        costs="as its noise ratio and price are off; little to know of prompts before they come back",
        bias="none in direction: the update follows a known, decreasing weight of each prompt's pass rate",
        status="experimental",
    ),
    lambda: {
        "allocation": Winnow(),
        "selection": Pairs(),
        "advantage": Contrast(),
        "objective": Objective(denominator="full"),
    },
)
