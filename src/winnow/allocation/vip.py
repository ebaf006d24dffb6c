"""VIP: predict each prompt's pass rate, then split the rollouts for the least variance of the gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from winnow.about import About, declare
from winnow.advantage import Advantage
from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.marginal import split
from winnow.allocation.marginal_plan import Planned
from winnow.allocation.vip_predictor import Predictor
from winnow.allocation.vip_program import SMALLEST, Gradient, gains
from winnow.candidates import Candidates
from winnow.errors import ConfigError, unknown
from winnow.feedback import Feedback
from winnow.groups import FloatArray, IntArray
from winnow.objective.config import Objective


@dataclass(frozen=True, slots=True)
class Vip:
    """Variance-informed predictive allocation (VIP, arXiv 2602.01601, section 5).

    Before a rollout is drawn, prompt q gets ``n_q`` so that ``sum w_q variance(n_q)`` is smallest, with ``w_q = 4 p_q
    (1 - p_q)``, the predicted pass rate ``p_q``, the variance of the ``gradient`` (``1/(n-1)`` for RLOO, ``(n-1)/n^2``
    for Dr.GRPO), ``low <= n_q <= high`` and the step's rollouts as their sum. The whole numbers are optimal:
    both variances are convex from ``low`` on, so giving each next rollout to the prompt it helps most is exact
    (`winnow.allocation.marginal.split`); the paper rounds a real-valued solution by a heuristic, the authors' code
    takes one from a solver that stops early. `winnow.allocation.vip_program.relaxed` has the real-valued optimum.

    Pass rates come from `winnow.allocation.vip_predictor.Predictor`: shares of outcomes above one half, carried from
    prompt to prompt by ``candidates.features``; without features every prompt is judged by its own last visit. A step
    in which nothing is known is uniform.

    Of the authors' code this leaves out: a prior of 0.7 % (latent -5), rates from 0.8 on taken for 1, a bonus for hard
    prompts, and dropping prompts below four rollouts.

    The variance minimised is that of the mean over prompts of ``(1/n) sum A grad log pi``, so the recipes give every
    prompt the same weight (``weight="prompt"``, and sums over tokens, ours; the authors' scripts average over tokens,
    which lets a prompt pull in proportion to its rollouts). Known bias: none with RLOO, whose expected gradient is the
    same for every n fixed before the rewards are seen; with Dr.GRPO a prompt pulls by ``(n-1)/n``.

    Budget (ours). It is spent exactly. Below ``low`` per prompt only the prompts of largest ``w`` are served, ``low``
    each; above ``high`` all get the same. Under a token budget the plan is for ``n`` per prompt and repeats until the
    tokens are spent. Equal gains fall to the prompt with fewest rollouts, then to the lowest index.

    Attributes:
        n: mean rollouts per prompt that the bounds refer to, and that a step without a budget draws.
        least: ``low = round(least n)``, but at least 2 (RLOO) or 3 (Dr.GRPO), below which the variance says nothing.
        most: ``high = round(most n)``. The authors used 4 to 16, 4 to 32 and 6 to 12 at n = 8.
        gradient: ``"rloo"`` or ``"dr-grpo"``; the advantage of the recipe has to be the same.
        length_scale: of the kernel, in units of feature distance; 0 is the median distance of the first step. The
            authors' code has 0.4 and 0.27.
        prior: latent mean of a prompt that nothing is known of; 0 is a pass rate of one half.
        clip_rate: pass rates count as at least this and at most one minus this; 0 of 8 is no proof of 0.
        noise: variance of an observed logit, added to the kernel's diagonal. 1e-4 in the paper; see the predictor for
            why it is larger here.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: a plan costs O(P K log(P K)) with ``K = high - low``; the predictor's cost is told there.
    """

    n: int = 8
    least: float = 0.5
    most: float = 2.0
    gradient: Gradient = "rloo"
    length_scale: float = 0.0
    prior: float = 0.0
    clip_rate: float = 0.05
    noise: float = 1.0
    compares: ClassVar[bool] = True
    _predictor: Predictor = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.gradient not in SMALLEST:
            raise unknown("gradient", self.gradient, SMALLEST)
        check_count(f"Vip(gradient={self.gradient!r})", "n", self.n, SMALLEST[self.gradient])
        if not 0 < self.least <= 1 <= self.most < math.inf:
            raise ConfigError(f"Vip(least={self.least!r}, most={self.most!r}): use 0 < least <= 1 <= most, shares of n")
        if not 0 < self.clip_rate < 0.5:
            raise ConfigError(f"Vip(clip_rate={self.clip_rate!r}): use a rate above 0 and below 0.5, as 0.05")
        if not 0 < self.noise < math.inf or not 0 <= self.length_scale < math.inf:
            raise ConfigError(
                f"Vip(length_scale={self.length_scale!r}, noise={self.noise!r}): use a length scale >= 0 (0 is the "
                "median distance) and a noise > 0"
            )
        if not math.isfinite(self.prior):
            raise ConfigError(f"Vip(prior={self.prior!r}): use a finite latent value, as 0")
        object.__setattr__(self, "_predictor", Predictor(self.prior, self.length_scale, self.clip_rate, self.noise))

    @property
    def low(self) -> int:
        """The fewest rollouts of a prompt that is served."""
        return max(SMALLEST[self.gradient], round(self.least * self.n))

    @property
    def largest(self) -> int:
        """The most rollouts of a prompt."""
        return max(self.n, round(self.most * self.n))

    @property
    def barrier(self) -> bool:
        """One wave: there is nothing to wait for."""
        return True

    def with_n(self, n: int) -> Vip:
        """Return the rule with another n, bounds in proportion."""
        return replace(self, n=n)

    def plan(self, rates: FloatArray, total: int) -> IntArray:
        """Return int64 (P,) counts that sum to ``total``, for expected pass rates (P,)."""
        weight = 4 * rates * (1 - rates)
        return split(total, self.low, self.largest, lambda n: gains(weight, n, self.gradient), weight)

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        rates = self._predictor.rates(prompts)
        return Planned(lambda total: self.plan(rates, total), len(prompts) * self.n)

    def observe(self, feedback: Feedback) -> None:
        """Move the predictor to the pass rates of the step; prompts without a scorable rollout say nothing."""
        judged = np.flatnonzero(feedback.valid)
        self._predictor.observe(feedback.prompts.pick(judged), feedback.successes[judged] / feedback.valid[judged])

    def state_dict(self) -> dict[str, Any]:
        """Return what the predictor knows."""
        return self._predictor.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._predictor.load_state_dict(state)


def _about(gradient: str, bias: str) -> About:
    return About(
        paper="VIP, arXiv 2602.01601",
        idea=f"predict pass rates by earlier steps and similar prompts; split for the least variance of {gradient}",
        saves="rollouts on prompts that are expected to be solved or out of reach",
        costs="a prediction that is wrong spends them on the wrong prompts; little to predict in the first epoch",
        bias=bias,
        status="decision",
    )


RULES["vip"] = Vip
declare(
    "vip",
    _about("RLOO", "none: group sizes are fixed before the rewards are seen"),
    lambda: {
        "allocation": Vip(),
        "advantage": Advantage("rloo"),
        "weight": "prompt",
        "objective": Objective(aggregation="constant"),
    },
)
declare(
    "vip-dr-grpo",
    _about(
        "Dr.GRPO", "a prompt's expected gradient is (n-1)/n of the true one, so prompts with few rollouts pull less"
    ),
    lambda: {
        "allocation": Vip(gradient="dr-grpo"),
        "advantage": Advantage("centred"),
        "weight": "prompt",
        "objective": Objective(aggregation="constant"),
    },
)
