"""The settings of the objective and its denominators; imports nothing beyond the standard library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from winnow.errors import ConfigError, unknown

Aggregation = Literal["token", "sequence", "constant"]
Denominator = Literal["kept", "full"]
Ratio = Literal["token", "geometric"]


@dataclass(frozen=True, slots=True)
class Totals:
    """How much data an update stands for: the denominators of its loss.

    Attributes:
        kept_rows: rollouts kept for training, those of advantage 0 included.
        kept_tokens: their completion tokens.
        full_rows: scorable rollouts generated, before gates and selection.
        full_tokens: their completion tokens.
    """

    kept_rows: int
    kept_tokens: int
    full_rows: int
    full_tokens: int


@dataclass(frozen=True, slots=True)
class Objective:
    """A clipped policy loss.

    With ratio rho = exp(new - sampling log-probability) the term of a token is
    ``-min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A) + kl_beta * k3`` (GRPO, 2402.03300; the asymmetric
    clip is DAPO's, 2503.14476; ``constant`` aggregation is Dr.GRPO's, 2503.20783).

    With ``ratio="geometric"`` the term is of a whole row, ``-A exp(mean over its tokens of c)``, c being the log-ratio
    clipped from above at ``clip_high`` where A > 0 and from below at ``-clip_low`` where A < 0 (GMPO, 2507.20673): the
    bounds are in log space, the paper's are 0.4.

    Attributes:
        ratio: importance ratios per ``token``, or their ``geometric`` mean over a row.
        clip_low: how far below 1 the ratio still counts, in [0, 1].
        clip_high: how far above 1 the ratio still counts, >= 0; may be infinite.
        clip_dual: for A < 0 the term is at most ``-clip_dual * A``; > 1, None leaves it open.
        aggregation: ``token``: sum over tokens / tokens. ``sequence``: mean over rows of the mean over their
            tokens. ``constant``: sum over tokens / (rows x ``constant_length``).
        denominator: count the rows and tokens ``kept`` for training, or the ``full`` generated ones.
        constant_length: tokens, needed by ``constant`` once a loss is computed (the trainer fills in the longest
            completion allowed).
        kl_beta: weight of the k3 divergence to the reference; 0 needs no reference.
        flow_beta: above 0 the loss is FlowRL's, see `winnow.objective.flow`, with this weight of the reward (15 in the
            paper); it needs a reference and ``aggregation="sequence"``.
        kl_clamp: the log-ratio to the reference is clamped to +-this before the exponential.

    Raises:
        ConfigError: for a value outside its range.
    """

    ratio: Ratio = "token"
    clip_low: float = 0.2
    clip_high: float = 0.2
    clip_dual: float | None = None
    aggregation: Aggregation = "token"
    denominator: Denominator = "kept"
    constant_length: int | None = None
    kl_beta: float = 0.0
    flow_beta: float = 0.0
    kl_clamp: float = 20.0

    def __post_init__(self) -> None:
        if self.aggregation not in get_args(Aggregation):
            raise unknown("aggregation", self.aggregation, get_args(Aggregation))
        if self.ratio not in get_args(Ratio):
            raise unknown("ratio", self.ratio, get_args(Ratio))
        if self.ratio == "geometric" and (self.aggregation != "sequence" or self.clip_dual is not None):
            raise ConfigError('ratio="geometric" makes one term of a row: use aggregation="sequence", and no clip_dual')
        if self.denominator not in get_args(Denominator):
            raise unknown("denominator", self.denominator, get_args(Denominator))
        if not 0.0 <= self.clip_low <= 1.0:
            raise ConfigError(f"clip_low is {self.clip_low}; it must be in [0, 1]")
        if not self.clip_high >= 0.0:
            raise ConfigError(f"clip_high is {self.clip_high}; it must be >= 0")
        if self.clip_dual is not None and not self.clip_dual > 1.0:
            raise ConfigError(f"clip_dual is {self.clip_dual}; it must be > 1, or None for no bound")
        if not 0.0 <= self.kl_beta < math.inf:
            raise ConfigError(f"kl_beta is {self.kl_beta}; it must be a finite number >= 0")
        if not 0.0 <= self.flow_beta < math.inf:
            raise ConfigError(f"flow_beta is {self.flow_beta}; it must be a finite number >= 0")
        if self.flow_beta and (self.aggregation != "sequence" or self.ratio != "token" or self.kl_beta):
            raise ConfigError(
                'flow_beta > 0 makes one squared term of a row, divergence included: use aggregation="sequence", '
                'ratio="token" and kl_beta=0'
            )
        if not 0.0 < self.kl_clamp <= 80.0:
            raise ConfigError(f"kl_clamp is {self.kl_clamp}; it must be in (0, 80], or float32 overflows")
        if self.constant_length is not None and self.constant_length < 1:
            raise ConfigError(f"constant_length is {self.constant_length}; it must be at least 1")

    @property
    def needs_reference(self) -> bool:
        """Whether the loss compares the policy with a reference."""
        return self.kl_beta > 0 or self.flow_beta > 0

    def divisor(self, totals: Totals) -> float:
        """Return what the summed loss is divided by; 0 when there is nothing to train on.

        Raises:
            ConfigError: for ``constant`` without a ``constant_length``.
        """
        full = self.denominator == "full"
        if self.aggregation == "token":
            return float(totals.full_tokens if full else totals.kept_tokens)
        rows = float(totals.full_rows if full else totals.kept_rows)
        if self.aggregation == "sequence":
            return rows
        if self.constant_length is None:
            raise ConfigError("aggregation 'constant' needs constant_length (usually max_new_tokens)")
        return rows * float(self.constant_length)
