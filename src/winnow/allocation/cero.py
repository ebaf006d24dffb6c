"""CERO: prices spread a training-long budget over prompts, so that none gets more than its share at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.cero_prices import demand, hashed_rank, in_order, spread
from winnow.allocation.marginal import evenly
from winnow.allocation.marginal_plan import Planned
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory

OVERSHOOT = 132 / 128
"""Round capacity over budget per round, in the paper."""

STEPS_OPEN = 8
"""Steps begun and not finished whose candidates are remembered."""


@dataclass(frozen=True, slots=True)
class Cero:
    """Cross-epoch adaptive rollout optimisation by dual prices (CERO, arXiv 2606.05606, the online dual algorithm).

    Rollouts come in units. z units of a prompt over the whole training are worth ``1 - exp(-4 lambda q z / R)``, where
    R is the mean of z over prompts and q the posterior mean of ``p (1-p)`` under a Beta distribution. Every prompt has
    a price theta (at first ``4 q``), the budget has a price nu (at first 0.5). A step

    - plans: prompts with ``theta > nu``, dearest first, ``most`` units each up to a capacity 132/128 of the budget;
    - serves the prompts in the same order, ``most`` units each, for as long as the step's rollouts last;
    - moves the prices, with N units planned and ``z*`` the demand over the training at the price ``lambda theta / R``:
      ``theta -= (N - z*/K) / (most sqrt(K))``, ``nu -= (b - sum N) / (G sqrt(K))``, both kept within [0, 1];
      b is the step's budget in units and ``G = max(b, capacity - b)``;
    - learns: ``a = a0 + forgetting (a - a0) + successes`` for the prompts it drew, and b from the failures.

    A prompt that was served gets cheaper; one that was not gets dearer, by what it still demands, so dead prompts come
    back.

    What differs from the paper (ours). The paper plans over all prompts of the data in each of K = 500 rounds, with
    units of 4 rollouts, at most 2 per prompt and 64,000 in all. Here a step plans over the prompts it is given, and K
    is the number of times the training offers a prompt, ``rounds``: steps x prompts per step / prompts of the data.
    The budget of the training follows, ``R = rounds * share * most`` units per prompt, and a step brings its part of
    it. A step spends its budget exactly, also on prompts the plan leaves out, so the plan only moves prices. A
    remainder smaller than a unit is a group of its own for the next prompt, a single rollout goes on top of the last
    group; what exceeds ``most`` units per prompt is shared out evenly. Prices move with the posterior that the plan
    was made with. To have the paper's choice of 64 prompts in groups of 8, offer 128 prompts with ``n=4``.

    Prompts that get nothing in a step were still offered and their prices move. Ties go by a permutation of all
    prompts that stays the same (``permutation`` picks it). Outcomes above one half are successes; unscorable rollouts
    say nothing. Under a token budget the plan is for ``n`` per prompt and repeats until the tokens are spent. Known
    bias: none within a group, whose size is fixed before its rewards; which prompts train depends on earlier ones.

    Attributes:
        n: mean rollouts per prompt offered, in a step without a budget.
        most: units a prompt gets at most in a step.
        share: share of the prompts offered that a step of n per prompt serves at ``most`` units each, in (0, 1]; at 1
            there is nothing to choose. It makes a unit ``ceil(n / (share most))`` rollouts.
        rounds: K, see above.
        saturation: lambda, > 0.
        forgetting: rho, in (0, 1].
        prior: a0 = b0 of the Beta distribution, > 0.
        permutation: which order breaks ties, a whole number >= 0.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(P log P) per step. Memory: three numbers per prompt offered. The regret bound of the paper,
    O(sqrt K), is for its own setting.
    """

    n: int = 8
    most: int = 2
    share: float = 0.5
    rounds: int = 8
    saturation: float = 1.0
    forgetting: float = 1.0
    prior: float = 1.0
    permutation: int = 0
    _memory: Memory = field(init=False, compare=False, repr=False)
    _budget_price: dict[str, float] = field(default_factory=dict, init=False, compare=False, repr=False)
    _offered: list[IntArray] = field(default_factory=list, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("n", 2), ("most", 1), ("rounds", 1), ("permutation", 0)):
            check_count("Cero", name, getattr(self, name), least)
        for name, highest in (("share", 1.0), ("forgetting", 1.0), ("saturation", math.inf), ("prior", math.inf)):
            value = getattr(self, name)
            if not 0 < value <= highest or math.isinf(value):
                raise ConfigError(f"Cero({name}={value!r}): use a number above 0, at most {highest:g}")
        object.__setattr__(
            self, "_memory", Memory(price=4 * float(spread(self.prior, self.prior)), right=0.0, wrong=0.0)
        )
        self._budget_price["nu"] = 0.5

    @property
    def unit(self) -> int:
        """Rollouts in a unit, at least 2."""
        return max(2, math.ceil(self.n / (self.share * self.most) - 1e-9))

    @property
    def largest(self) -> int:
        """The most units, and a single rollout that would be alone."""
        return self.most * self.unit + 1

    @property
    def barrier(self) -> bool:
        """One wave: there is nothing to wait for."""
        return True

    def with_n(self, n: int) -> Cero:
        """Return the rule with another n, the unit in proportion."""
        return replace(self, n=n)

    def prices(self, ids: IntArray) -> FloatArray:
        """Return theta (P,)."""
        return self._memory.get("price", ids)

    def spreads(self, ids: IntArray) -> FloatArray:
        """Return q (P,), what p (1-p) is expected to be."""
        return spread(self.prior + self._memory.get("right", ids), self.prior + self._memory.get("wrong", ids))

    def planned(self, ids: IntArray, rollouts: int) -> IntArray:
        """Return N (P,), the units that the plan gives to each prompt offered, for a step of so many rollouts."""
        order = self._order(ids)
        wanted = order[self.prices(ids)[order] > self._budget_price["nu"]]
        units: IntArray = np.zeros(len(ids), np.int64)
        units[wanted] = in_order(self._capacity(rollouts / self.unit), len(wanted), self.most)
        return units

    def plan(self, ids: IntArray, total: int) -> IntArray:
        """Return int64 (P,) rollouts that sum to ``total``."""
        order, cap = self._order(ids), self.most * self.unit
        if total > len(ids) * cap:
            line = evenly(total, len(ids))
        else:
            line = self.unit * in_order(total // self.unit, len(ids), self.most)
            rest, served = total % self.unit, int(np.count_nonzero(line))
            own = served == 0 or (line[served - 1] == cap and rest > 1)
            if rest:
                line[served if own else served - 1] += rest
        counts: IntArray = np.zeros(len(ids), np.int64)
        counts[order] = line
        return counts

    def _order(self, ids: IntArray) -> IntArray:
        return np.lexsort((hashed_rank(ids, self.permutation), -np.round(self.prices(ids), 12)))

    def _capacity(self, budget: float) -> int:
        # At least one unit above the budget: otherwise no plan ever exceeds it and nu never rises.
        return max(math.floor(budget) + 1, round(budget * OVERSHOOT))

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step; the prompts offered are noted, for feedback names only those that were served."""
        self._offered.append(prompts.ids)
        del self._offered[:-STEPS_OPEN]
        order = prompts.ids
        return Planned(lambda total: self.plan(order, total), len(prompts) * self.n)

    def observe(self, feedback: Feedback) -> None:
        """Move the prices of all prompts offered and of the budget, then the posteriors of those drawn."""
        drawn = feedback.prompts.ids
        if not len(drawn):
            return
        self._move_prices(self._offered_with(drawn), int(feedback.counts.sum()))
        for name, seen in (("right", feedback.successes), ("wrong", feedback.valid - feedback.successes)):
            self._memory.set(name, drawn, self.forgetting * self._memory.get(name, drawn) + seen)

    def _move_prices(self, ids: IntArray, rollouts: int) -> None:
        units, prices, pace = self.planned(ids, rollouts), self.prices(ids), 1 / math.sqrt(self.rounds)
        mean = self.rounds * self.share * self.most
        scale = self.saturation / mean
        wish = demand(scale * prices, 4 * scale * self.spreads(ids), self.rounds * self.most) / self.rounds
        self._memory.set("price", ids, np.clip(prices - pace * (units - wish) / self.most, 0, 1))
        budget = rollouts / self.unit
        slack = max(budget, self._capacity(budget) - budget)
        moved = self._budget_price["nu"] - pace * (budget - float(units.sum())) / slack
        self._budget_price["nu"] = min(1.0, max(0.0, moved))

    def _offered_with(self, drawn: IntArray) -> IntArray:
        for place in reversed(range(len(self._offered))):
            if np.isin(drawn, self._offered[place]).all():
                return self._offered.pop(place)
        return drawn

    def state_dict(self) -> dict[str, Any]:
        """Return prices and posteriors."""
        return {"memory": self._memory.state_dict(), **self._budget_price}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._memory.load_state_dict(state["memory"])
        self._budget_price["nu"] = float(state["nu"])


RULES["cero"] = Cero
declare(
    "cero",
    About(
        paper="CERO, arXiv 2606.05606",
        idea="serve the dearer half of the prompts; a price falls when served and rises with what is left to teach",
        saves="rollouts on prompts that have had their share or show one outcome only",
        costs="a step trains on part of the prompts it is offered; `rounds` has to fit the length of the training",
        bias="none within a group; which prompts train depends on earlier rewards",
        status="decision",
    ),
    lambda: {"allocation": Cero()},
)
