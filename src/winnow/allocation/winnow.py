"""The recipe named winnow: each rollout goes to the group to which it is expected to add most per unit of cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.advantage.contrast import Contrast
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.indexed import Indexed
from winnow.allocation.outlook import Outlook, outlook
from winnow.belief import Belief
from winnow.candidates import Candidates
from winnow.effect import RIGHT, WRONG, Noise
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray
from winnow.objective.config import Objective
from winnow.selection.marginal import Marginal

STRENGTHS, LOGITS = 1.5, 0.5
"""Grid of the beliefs that a table is made for: ratio of strengths, and step of the mean in logits."""


@dataclass(frozen=True, slots=True)
class Winnow:
    """Spend every rollout where it is expected to teach most (ours; docs/winnow-recipe.md).

    A group teaches its `effect`; its *index* is what further rollouts are expected to add, each, the rows that then
    train paid for. A prompt is opened with as many rollouts as make its index largest. Once these are in, it competes
    with its new index with the other open prompts and with the next one that is not open yet, which counts with the
    rate of its `outlook`, and the best gets the next request. So a prompt closes when something else is worth more: at
    its first contrast as a rule, without one soon after a success, and after more failures the likelier it is to be
    solvable. Open prompts go before new ones where equal, lower numbers before higher.

    Candidates come in the order offered; those whose rate, by what they showed at earlier visits, is below ``skip``
    times that of a prompt never seen come last. While rollouts are in flight, as much of the budget is left for their
    prompts as these are expected to use.

    The budget is spent exactly while a group may grow; then the step says so. Unscorable rollouts count towards
    ``most`` alone. A budget in tokens opens all candidates before any gets more: what is left for them is not known.

    Known bias: none in direction, whatever finishes first. A decision is made of outcomes alone, so given its outcomes
    the completions of a prompt are drawn as ever; see `Contrast` for what follows. With ``waves=0``, or a budget in
    tokens, lengths have a say too, and the update leans a little towards what is short.

    Attributes:
        n: mean rollouts per prompt of a step; their product is the budget.
        oversample: candidates per prompt of a step.
        most: largest group.
        noise_right: noise of a right rollout, see `winnow.effect.Noise`.
        noise_wrong: noise of a wrong one.
        price: cost of a trained row, in rollouts.
        opening: cost of one more prompt in a step, in rollouts.
        retain: share of what a prompt showed that outlasts a visit.
        skip: share of the rate of an unknown prompt below which a candidate comes last.
        waves: rounds of a step; each waits for all results of the one before, and the last one spends what is left.
            0 uses every result as it comes.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: O(log P) per request, and a table of O(most^3) for each belief on a grid, kept from step to step.
    """

    n: int = 8
    oversample: int = 4
    most: int = 32
    noise_right: float = RIGHT
    noise_wrong: float = WRONG
    price: float = 1.0
    opening: float = 0.0
    retain: float = 0.5
    skip: float = 0.25
    waves: int = 2
    _belief: Belief = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_count("Winnow", "n", self.n, 2)
        check_count("Winnow", "oversample", self.oversample, 1)
        check_count("Winnow", "most", self.most, 2)
        check_count("Winnow", "waves", self.waves, 0)
        if self.most > 256:
            raise ConfigError(f"Winnow(most={self.most}): tables grow with its square; use at most 256")
        Noise(self.noise_right, self.noise_wrong)
        for name in ("price", "opening"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"Winnow({name}={getattr(self, name)!r}): use a finite number >= 0, as 1")
        for name in ("retain", "skip"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Winnow({name}={getattr(self, name)!r}): use a number in [0, 1]")
        object.__setattr__(self, "_belief", Belief(self.retain))

    @property
    def noise(self) -> Noise:
        """Noise of a rollout on either side."""
        return Noise(self.noise_right, self.noise_wrong)

    @property
    def largest(self) -> int:
        """No group is larger."""
        return self.most

    @property
    def barrier(self) -> bool:
        """With ``waves`` results count round by round, else as they come."""
        return self.waves > 0

    def with_n(self, n: int) -> Winnow:
        """Return the rule with another budget per prompt."""
        return replace(self, n=n)

    def outlooks(self, a: FloatArray, b: FloatArray) -> list[Outlook]:
        """Return the tables (P,) of the beliefs on the grid that are nearest to Beta(a, b)."""
        strength = np.rint(np.log(a + b) / math.log(STRENGTHS)).astype(int)
        logit = np.rint(np.log(a / b) / LOGITS).astype(int)
        places = list(zip(strength.tolist(), logit.tolist(), strict=True))
        tables = {place: self._table(*place) for place in dict.fromkeys(places)}
        return [tables[place] for place in places]

    def _table(self, strength: int, logit: int) -> Outlook:
        size, mean = STRENGTHS**strength, 1 / (1 + math.exp(-LOGITS * logit))
        return outlook(
            mean * size,
            (1 - mean) * size,
            noise=self.noise,
            price=self.price,
            most=self.most,
            opening=self.opening,
        )

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        (prior_a, prior_b), (a, b) = self._belief.prior, self._belief.of(prompts.ids)
        *tables, unknown = self.outlooks(np.append(a, prior_a), np.append(b, prior_b))
        return Indexed(self, a, b, tables, unknown.rate)

    def observe(self, feedback: Feedback) -> None:
        """Learn what the prompts showed."""
        before = self.outlooks(*self._belief.of(feedback.prompts.ids))
        self._belief.observe(feedback, np.array([table.size[0, 0] for table in before], np.int64))

    def state_dict(self) -> dict[str, Any]:
        """Return what is believed."""
        return self._belief.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._belief.load_state_dict(state)


RULES["winnow"] = Winnow
declare(
    "winnow",
    About(
        paper="ours",
        idea="give rollouts to the groups they are expected to teach most; train the rows with the least noise",
        saves="rollouts on solved and hopeless prompts, and nearly all wrong and repeated right rows",
        costs="a second wave in each step; more prompts are opened, which costs where prompts are dear",
        bias="none in direction: each prompt moves along the gradient of its log-odds, by a weight of its outcomes",
        status="experimental",
    ),
    lambda: {
        "allocation": Winnow(),
        "selection": Marginal(),
        "advantage": Contrast(),
        "stats": "full",
        "objective": Objective(denominator="full"),
    },
)
