"""DAPO's soft overlong punishment: a reward that falls as a rollout nears the length limit, beside the verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.about import About, declare
from winnow.advantage.base import PARTS, RULES, Advantage
from winnow.advantage.ranges import check_told
from winnow.columns import needed
from winnow.errors import ConfigError, unknown
from winnow.groups import FloatArray, as_rewards
from winnow.objective.config import Objective


@dataclass(frozen=True, slots=True)
class Overlong:
    """An advantage over ``r + penalty * overlong_penalty(length)`` (DAPO, arXiv 2503.14476).

    The penalty enters here, after gate, allocation and selection: they see verdicts and rewards as told, so that an
    all-right group of different lengths does not pass for one with signal. (Without a gate it
    enters, and its lengths alone train.)

    Attributes:
        longest: the sampler's limit in tokens (20480 in the paper), needed once advantages are computed.
        cache: tokens before the limit over which the penalty grows, 1 to longest (4096 in the paper); None takes the
            same fifth of the limit.
        penalty: what a rollout at the limit pays, in units of reward, >= 0.
        base: an advantage rule without columns of its own (``grpo``, ``rloo``, ``centred``, ...).
        ddof, eps: for ``grpo``.

    NaN rule, zeros and complexity are those of ``base``. Raises `ConfigError` if a setting is out of range. Tokens must
    be told: rollouts of length 0 pay nothing.
    """

    longest: int | None = None
    cache: int | None = None
    penalty: float = 1.0
    base: str = "grpo"
    ddof: int = 1
    eps: float = 1e-4
    needs = ("lengths",)

    def __post_init__(self) -> None:
        longest = np.inf if self.longest is None else self.longest
        if not longest >= 1 or (self.cache is not None and not 1 <= self.cache <= longest):
            raise ConfigError(
                f"Overlong(longest={self.longest!r}, cache={self.cache!r}): use 1 <= cache <= longest, in tokens"
            )
        if not 0 <= self.penalty < np.inf:
            raise ConfigError(f"Overlong(penalty={self.penalty!r}): use a number >= 0")
        if self.base not in RULES or needed(RULES[self.base]):
            raise unknown("base", self.base, (name for name, rule in RULES.items() if not needed(rule)))
        Advantage(self.base, self.ddof, self.eps)

    @property
    def name(self) -> str:
        """``overlong``."""
        return "overlong"

    def __call__(self, rewards: npt.ArrayLike, groups: npt.ArrayLike, *, lengths: npt.ArrayLike) -> FloatArray:
        """Return float64 (N,); ``lengths`` (N,) in tokens.

        Raises:
            ConfigError: if ``longest`` is not set.
        """
        return Advantage(self.base, self.ddof, self.eps)(self._shaped(rewards, lengths), groups)

    def check_told(self, rewards: npt.ArrayLike, *, lengths: npt.ArrayLike) -> None:
        """Refuse what ``base`` cannot take once the penalty is in it, and everything as long as ``longest`` is None."""
        check_told(RULES[self.base], self._shaped(rewards, lengths), {})

    def _shaped(self, rewards: npt.ArrayLike, lengths: npt.ArrayLike) -> npt.NDArray[np.floating]:
        if self.longest is None:
            raise ConfigError("the overlong penalty needs longest=...: the most tokens that the sampler generates")
        cache = max(1, self.longest // 5) if self.cache is None else self.cache
        return as_rewards(rewards) + self.penalty * overlong_penalty(lengths, self.longest, cache)


def overlong_penalty(lengths: npt.ArrayLike, longest: int, cache: int) -> FloatArray:
    """Return ``(longest - cache - length) / cache``, between 0 and -1 (DAPO, arXiv 2503.14476).

    Args:
        lengths: (N,) tokens.
        longest: length from which on it is -1.
        cache: tokens before, in which it grows from 0.
    """
    return -np.clip((np.asarray(lengths, np.float64) - (longest - cache)) / cache, 0.0, 1.0)


PARTS["overlong"] = Overlong
declare(
    "dapo-overlong",
    About(
        paper="DAPO, arXiv 2503.14476, with its soft overlong punishment",
        idea="dapo, and rollouts that near the length limit (longest) lose reward",
        saves="steps: every group that trains has signal; and tokens, as rollouts stay within the limit",
        costs="those of dapo",
        bias="that of dapo, and against length near the limit",
    ),
    lambda: {
        "allocation": "refill",
        "gate": "zero_signal",
        "advantage": Overlong(),
        "objective": Objective(clip_high=0.28),
    },
)
