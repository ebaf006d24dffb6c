"""Rules that cannot take every reward: refused as they are told, not when a step is over and all of it is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from winnow.columns import needed
from winnow.errors import ConfigError
from winnow.groups import as_rewards

Rule = TypeVar("Rule", bound=Callable[..., Any])


def checked_by(check: Callable[..., None]) -> Callable[[Rule], Rule]:
    """Let ``check(rewards, **columns)`` be asked of the rewards told for a rule (a decorator).

    A part with settings of its own has a method ``check_told`` instead.
    """

    def mark(rule: Rule) -> Rule:
        rule.check_told = check  # type: ignore[attr-defined]
        return rule

    return mark


def check_told(part: object, rewards: npt.ArrayLike, columns: Mapping[str, npt.ArrayLike]) -> None:
    """Let an advantage refuse what was told; one without ``check_told`` takes everything.

    Args:
        part: an advantage, or a rule by itself.
        rewards: (k,) of some rollouts of a step; NaN where unscorable.
        columns: (k, ...) by name; those that the part needs are handed on.

    Raises:
        ConfigError: the part refuses it.
    """
    check = getattr(part, "check_told", None)
    if check is not None:
        check(rewards, **{name: columns[name] for name in needed(part) if name in columns})


def check_range(rewards: npt.ArrayLike, rule: str, most: float = np.inf) -> None:
    """Refuse finite rewards outside 0 to ``most``.

    Args:
        rewards: (N,); what is not finite is passed over.
        rule: its name, for the message.
        most: the largest reward the rule takes.

    Raises:
        ConfigError: it names the first one outside.
    """
    values = as_rewards(rewards)
    outside = values[np.isfinite(values) & ((values < 0) | (values > most))]
    if len(outside):
        allowed = f"in [0, {most:g}]" if most < np.inf else ">= 0"
        raise ConfigError(
            f"advantage {rule} needs rewards {allowed}, found {outside[0]:g}: shift or rescale the reward, or choose "
            "another advantage"
        )
