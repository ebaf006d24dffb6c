"""WS-GRPO, as far as a score goes: outcome plus a judgement of the steps, z-scored inside the group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import PARTS
from winnow.advantage.grpo import grpo
from winnow.advantage.scores import as_scores
from winnow.errors import ConfigError
from winnow.groups import FloatArray, as_rewards


@dataclass(frozen=True, slots=True)
class WsGrpo:
    """GRPO over ``outcome_weight * r + step_weight * s`` (after WS-GRPO, arXiv 2602.17025).

    Column ``scores``: s is the mean over a rollout's steps of the preference for each prefix over the one before it.

    What is missing: the preference model (in the source a network of 512 units on embeddings, trained on pairs of
    right and wrong rollouts), the cut into steps, and the source's final formula, which was not found. Weights and the
    single advantage per rollout are as reported of it.

    A group that is all right has signal where its scores differ. Rows whose reward or score is not finite get 0 and
    are in no statistic; zeros, ties and complexity are those of `grpo`.

    Attributes:
        outcome_weight, step_weight: finite numbers >= 0.
        ddof, eps: as in `grpo`.

    Raises `ConfigError` if a setting is out of range, or no rollout has a score.
    """

    outcome_weight: float = 1.0
    step_weight: float = 5.0
    ddof: int = 1
    eps: float = 1e-4
    needs = ("scores",)
    own_signal = True

    def __post_init__(self) -> None:
        for name in ("outcome_weight", "step_weight", "eps"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ConfigError(f"WsGrpo({name}={getattr(self, name)!r}): use a finite number >= 0")
        if self.ddof not in (0, 1):
            raise ConfigError(f"ddof={self.ddof!r}: use 1 (sample) or 0 (population)")

    @property
    def name(self) -> str:
        """``ws_grpo``."""
        return "ws_grpo"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, scores: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); ``scores`` (N,)."""
        values, judged = as_rewards(rewards).astype(np.float64), as_scores(scores, rewards, self.name)
        with np.errstate(invalid="ignore"):
            total = self.outcome_weight * values + self.step_weight * judged
        return grpo(total, groups, ddof=self.ddof, eps=self.eps)


PARTS["ws_grpo"] = WsGrpo
declare(
    "ws-grpo",
    About(
        paper="after WS-GRPO, arXiv 2602.17025; its preference model is yours to bring",
        idea="GRPO over the outcome plus five times a mean preference for going on",
        saves="tokens: steps that add nothing are pushed down",
        costs="a trained preference model that judges every step",
        bias="that of the preference model",
        status="experimental",
    ),
    lambda: {"advantage": WsGrpo()},
)
