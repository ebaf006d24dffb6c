"""Parts, settings and saved states that cannot be what they are said to be, refused before they do harm."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from winnow.errors import ConfigError
from winnow.feedback import Stateful
from winnow.objective.config import Objective
from winnow.recall import Repo

Part = TypeVar("Part")

METHODS = {"curriculum": "choose", "allocation": "begin", "selection": "__call__", "advantage": "__call__"}
"""What a part of each role has to be able to do."""


def check_parts(parts: Mapping[str, Any]) -> None:
    """Refuse parts of another kind than their role.

    Raises:
        ConfigError: it names the role and what was found.
    """
    for role, method in METHODS.items():
        if not hasattr(parts[role], method) or isinstance(parts[role], type):
            raise ConfigError(f"{role}={parts[role]!r}: use the name of a rule, or an object with the method {method}")
    if not isinstance(parts["gate"], str) and not callable(parts["gate"]):
        raise ConfigError(f"gate={parts['gate']!r}: use the name of a gate, or a function of what was observed")
    if not isinstance(parts["objective"], Objective):
        raise ConfigError(f"objective={parts['objective']!r}: use winnow.objective.Objective(...)")
    if parts["recall"] is not None and not isinstance(parts["recall"], Repo):
        raise ConfigError(f"recall={parts['recall']!r}: use winnow.recall.Repo(...), or None")
    if not isinstance(parts["name"], str) or not parts["name"]:
        raise ConfigError(f"name={parts['name']!r}: a recipe is called by a text")


def with_settings(part: Part, settings: Mapping[str, Any]) -> Part:
    """Return a part with some settings changed.

    Raises:
        ConfigError: if a value is NaN, is no truth value where one is needed, or has a type the part cannot take.
    """
    for name, value in settings.items():
        if isinstance(value, float) and math.isnan(value):
            raise ConfigError(f"{name}=nan: use a number")
        if isinstance(getattr(part, name), bool) and not isinstance(value, bool):
            raise ConfigError(f"{name}={value!r}: use true or false")
    try:
        return replace(part, **settings)  # type: ignore[type-var]
    except ConfigError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        told = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise ConfigError(f"{type(part).__name__}({told}) is not possible: {error}") from error


def load_states(parts: Mapping[str, Stateful], state: Mapping[str, Any], name: str) -> None:
    """Restore the states of all parts, or of none.

    Raises:
        ConfigError: if the state is of other parts, or one of them cannot be read.
    """
    if not isinstance(state, Mapping) or parts.keys() != state.keys():
        found = sorted(state) if isinstance(state, Mapping) else type(state).__name__
        raise ConfigError(f"recipe {name!r} keeps state for {sorted(parts)}, the checkpoint has {found}")
    for role, part in parts.items():
        try:
            copy.deepcopy(part).load_state_dict(state[role])
        except ConfigError:
            raise
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            raise ConfigError(
                f"the checkpoint's state of {role} of recipe {name!r} is damaged or of another version: "
                f"{type(error).__name__}: {error}"
            ) from error
    for role, part in parts.items():
        part.load_state_dict(state[role])
