"""SARA: after every rollout, go on with a prompt, commit to it, or give it up for a fresh one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from winnow.about import About, declare
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.sequential import Sequential
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory


@dataclass(frozen=True, slots=True)
class Sara:
    """Probe a prompt, then decide after every rollout by the chance that its group becomes mixed (2607.26253).

    Of P prompts at hand ``W = max(1, P // pool)`` are wanted; the others are spares. An open prompt draws ``probe``
    rollouts, then one at a time. With c the chance that its n rollouts will not all agree
    (`winnow.allocation.sequential.chance`): once ``c >= commit`` the rest of its n are drawn at once, also while others
    are out; when all its rollouts are back, at least ``probe`` of them, and ``c <= abandon``, it is given up. A prompt
    given up, or complete without signal, is replaced by the next spare, as long as the budget holds n more beside what
    the open ones may still need; a budget below n goes to the first prompt. The step ends when W groups have signal or
    nothing is left to open, and says which. Pair it with ``gate="zero_signal"``.

    Graded outcomes count as right above 0.5, and as mixed once they differ. Unscorable rollouts count towards n and are
    no evidence.

    The thresholds are ours, the source we could read gives only the probe: under a uniform prior and n = 8, c is .44
    after a probe of 4 that agree and .33 after 5, so the defaults give up after the fifth.

    Decisions concern one prompt at a time, so the order of arrival changes no group; only which spare is opened last
    can depend on it when the budget is short.

    Known bias: a prompt is given up by its outcomes, and what it drew does not train, so the prompts that do lean
    towards p = 1/2. With the defaults, leave-one-out advantages and prompts given up counted as 0, the expected
    gradient is 0.240 at p = 0.5 (true: 0.25) and 0.068 at p = 0.1 (true: 0.09); given that a prompt trains it is 0.256
    and 0.167 (enumerated in the tests).

    Attributes:
        n: rollouts of a group that is completed.
        probe: rollouts before a prompt may be given up, at most n.
        commit: chance from which the rest is drawn at once, in (0, 1].
        abandon: chance up to which a prompt is given up, below commit.
        prior: a = b of the Beta belief about a prompt's success rate, > 0.
        pool: prompts at hand per group wanted.

    Raises:
        ConfigError: if a setting is out of range.
    """

    n: int = 8
    probe: int = 4
    commit: float = 0.9
    abandon: float = 0.35
    prior: float = 1.0
    pool: int = 3

    def __post_init__(self) -> None:
        for name in ("n", "probe", "pool"):
            check_count("Sara", name, getattr(self, name), 1)
        if self.probe > self.n:
            raise ConfigError(f"Sara(probe={self.probe}): more than n={self.n}; lower it or raise n")
        if not 0 <= self.abandon < self.commit <= 1:
            raise ConfigError(f"Sara(abandon={self.abandon}, commit={self.commit}): use 0 <= abandon < commit <= 1")
        if not 0 < self.prior < np.inf:
            raise ConfigError(f"Sara(prior={self.prior!r}): use a number above 0, as 1")

    @property
    def barrier(self) -> bool:
        """Every result is used as it comes."""
        return False

    @property
    def largest(self) -> int:
        """No prompt gets more than n."""
        return self.n

    def with_n(self, n: int) -> Sara:
        """Return the rule with another n; the probe gives way where it has to."""
        return replace(self, n=n, probe=min(self.probe, n))

    def belief(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return a and b (P,) of each prompt before the step."""
        return np.full(len(ids), self.prior), np.full(len(ids), self.prior)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        return Sequential(self, *self.belief(prompts.ids))


@dataclass(frozen=True, slots=True)
class CarriedSara(Sara):
    """SARA whose belief about a prompt goes from step to step (ours, in the form of MoPPS, 2507.04632).

    After a visit ``a = carry a + (1 - carry) prior + successes``, and b likewise with failures. A prompt known to be
    easy or hard may then be given up right after its probe, one known to be mixed is committed to at once; none is
    given up before its probe.

    State: a and b per prompt visited.

    Attributes:
        carry: what a visit leaves of the belief before it, in [0, 1].
    """

    carry: float = 0.5
    _belief: Memory = field(default_factory=lambda: Memory(right=0.0, wrong=0.0), init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        Sara.__post_init__(self)
        if not 0 <= self.carry <= 1:
            raise ConfigError(f"CarriedSara(carry={self.carry!r}): use a share in [0, 1], as 0.5")

    def with_n(self, n: int) -> CarriedSara:
        """Return the rule with another n; the probe gives way where it has to, the beliefs start anew."""
        return replace(self, n=n, probe=min(self.probe, n))

    def belief(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return a and b (P,) of each prompt before the step."""
        return self.prior + self._belief.get("right", ids), self.prior + self._belief.get("wrong", ids)

    def observe(self, feedback: Feedback) -> None:
        """Move the beliefs of the prompts visited."""
        ids = feedback.prompts.ids
        for name, seen in (("right", feedback.successes), ("wrong", feedback.valid - feedback.successes)):
            # Beyond the prior, so that a prompt never seen is the prior: a - prior = carry (a - prior) + successes.
            self._belief.set(name, ids, self.carry * self._belief.get(name, ids) + seen)

    def state_dict(self) -> dict[str, Any]:
        """Return the evidence per prompt."""
        return self._belief.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._belief.load_state_dict(state)


RULES["sara"] = Sara
RULES["sara_carried"] = CarriedSara
declare(
    "sara",
    About(
        paper="SARA, arXiv 2607.26253",
        idea="after each rollout: complete the group, or give the prompt up for a fresh one",
        saves="rollouts on groups that would have stayed without signal",
        costs="rollouts one by one; prompts are given up that might have come to signal",
        bias="which groups are completed depends on their rewards",
        status="decision",
    ),
    lambda: {"allocation": Sara(), "gate": "zero_signal"},
)
declare(
    "sara-carried",
    About(
        paper="SARA, arXiv 2607.26253; beliefs carried from step to step are ours, after MoPPS, arXiv 2507.04632",
        idea="SARA that remembers the success rates of prompts",
        saves="as SARA, and probes decide sooner from the second epoch on",
        costs="as SARA; a belief that lags behind the policy",
        bias="as SARA",
        status="experimental",
    ),
    lambda: {"allocation": CarriedSara(), "gate": "zero_signal"},
)
