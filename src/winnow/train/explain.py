"""Turns what a validator found into one line for each wrong setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

_ALLOWED = {
    "betas": "takes two numbers, each at least 0 and below 1, as [0.9, 0.99]",
    "m": "takes a number of rollouts (a whole number, 2 or more) or a fraction of the group (above 0, at most 1.0)",
    "pass_at_k": "takes a list of whole numbers from 1 to eval_samples, as [1, 4]",
    "lora_targets": "takes a list of module names, as ['q_proj', 'v_proj']",
}


def explain(error: ValidationError, given: Mapping[str, Any], unknown_key: Callable[[str], str]) -> str:
    """Return one line for each wrong setting: its name, the value found, what is allowed.

    Args:
        error: what the validator found; it may hold several problems for one setting.
        given: the settings as they were given.
        unknown_key: builds the line for a name that is no setting.
    """
    lines: dict[str, str] = {}
    for problem in error.errors():
        name = str(problem["loc"][0]) if problem["loc"] else ""
        if problem["type"] == "extra_forbidden":
            line = unknown_key(name)
        elif problem["type"] == "value_error":
            name, line = name or str(len(lines)), str(problem["ctx"]["error"])
        elif name in _ALLOWED:
            line = f"{name}={given.get(name)!r}: {_ALLOWED[name]}"
        else:
            message = problem["msg"]
            line = f"{name}={given.get(name)!r}: {message[:1].lower()}{message[1:]}"
        lines.setdefault(name, line)
    return "\n".join(lines.values())
