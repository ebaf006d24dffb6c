"""What a step may spend, and the account of what it did spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from winnow.errors import BudgetError, ConfigError

MOST = 2**62


@dataclass(frozen=True, slots=True)
class Budget:
    """The most a step may generate: exactly one of ``rollouts`` and ``tokens``.

    Attributes:
        rollouts: rollouts to generate; never more, and fewer only when nothing is left to ask for.
        tokens: generated tokens (completions only, end-of-sequence included). Lengths are known only
            afterwards, so every rollout in flight reserves ``longest`` tokens and a rollout is asked for only
            while its reservation still fits; what the shorter ones leave over is granted again.
        longest: the most tokens one rollout can have (the sampler's limit); needed for ``tokens``
            to run many rollouts at once. Without it, one rollout is granted at a time, and the host has to
            cut it at what is left.

    Raises:
        ConfigError: if none or both are given, or a number is not a positive integer.
    """

    rollouts: int | None = None
    tokens: int | None = None
    longest: int | None = None

    def __post_init__(self) -> None:
        if (self.rollouts is None) == (self.tokens is None):
            found = "both" if self.rollouts is not None else "neither"
            raise ConfigError(f"a budget is given in rollouts or in tokens: found {found}")
        for name in ("rollouts", "tokens", "longest"):
            value = getattr(self, name)
            if value is None:
                continue
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or not 1 <= value <= MOST:
                raise ConfigError(f"Budget({name}={value!r}): use a whole number from 1 to {MOST}")
            object.__setattr__(self, name, int(value))
        if self.longest is not None and self.tokens is not None and self.longest > self.tokens:
            raise ConfigError(
                f"Budget(tokens={self.tokens}, longest={self.longest}): not even one rollout of {self.longest} "
                "tokens fits; raise tokens or lower the longest rollout"
            )

    def grantable(self, asked: int, in_flight: int, tokens: int) -> int:
        """Return how many rollouts may be asked for now.

        Args:
            asked: rollouts asked for so far.
            in_flight: of these, not yet told.
            tokens: tokens of the told ones.
        """
        if self.rollouts is not None:
            return self.rollouts - asked
        assert self.tokens is not None
        if self.longest is None:
            return 1 if in_flight == 0 and tokens < self.tokens and asked < self.tokens else 0
        # A rollout has at least one token, so a host that tells empty ones still comes to an end.
        return max(0, min((self.tokens - tokens) // self.longest - in_flight, self.tokens - asked))

    def check(self, tokens: int, longest: int) -> None:
        """Refuse tokens beyond the budget, or a rollout longer than was reserved.

        Raises:
            BudgetError: if the host generated more than was granted.
        """
        if self.longest is not None and longest > self.longest:
            raise BudgetError(
                f"a rollout of {longest} tokens was told, but the budget reserved at most longest={self.longest}"
            )
        if self.tokens is not None and tokens > self.tokens:
            raise BudgetError(f"{tokens} tokens were generated, over the budget of {self.tokens}")


@dataclass(slots=True)
class Ledger:
    """What a step, or a run, generated and what became of it. Every rollout ends in exactly one fate.

    Attributes:
        rollouts: rollouts told. ``rollouts = unscorable + gated + discarded + no_signal + trained``.
        tokens: their generated tokens.
        scored: rollouts with a finite reward.
        unscorable: rollouts without one.
        gated: scorable rollouts of groups that a gate kept out.
        discarded: rollouts that selection left out.
        selected: rows kept for the update (``no_signal + trained``).
        no_signal: rows kept whose advantage is 0: they count in the denominator and teach nothing.
        trained: rows with an advantage.
        trained_tokens: tokens of the trained rows.
        groups: groups with at least one rollout.
        no_signal_groups: groups whose outcomes are all equal, or with fewer than two scorable rollouts.
        waves: times the allocation handed out rollouts.
        seconds: wall-clock seconds by phase, filled in by the host.
    """

    rollouts: int = 0
    tokens: int = 0
    scored: int = 0
    unscorable: int = 0
    gated: int = 0
    discarded: int = 0
    selected: int = 0
    no_signal: int = 0
    trained: int = 0
    trained_tokens: int = 0
    groups: int = 0
    no_signal_groups: int = 0
    waves: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: Ledger) -> None:
        """Add another account to this one."""
        for item in fields(self):
            if item.name != "seconds":
                setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
        for phase, spent in other.seconds.items():
            self.spend(phase, spent)

    def spend(self, phase: str, seconds: float) -> None:
        """Book wall-clock seconds on a phase (``generate``, ``score``, ``decide``, ``update``, ...)."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Ledger:
        """Rebuild what `as_dict` returned."""
        return cls(**{**state, "seconds": dict(state["seconds"])})
