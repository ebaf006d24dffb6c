"""The settings of a pool: which values are allowed."""

from __future__ import annotations

import sys
import threading
from numbers import Real
from typing import Literal, get_args

from winnow import errors

Start = Literal["auto", "fork", "spawn"]

# An exbibyte: more than any machine addresses, and in bytes still less than what the system takes for "no limit".
MOST_MB = 1 << 40

_MOST = {"workers": sys.maxsize, "memory_mb": MOST_MB, "max_output": sys.maxsize}


def check(timeout: float, max_error_rate: float, **counts: int) -> None:
    """Look at the type and the range of the numbers.

    Raises:
        ConfigError: naming the setting, what was found and what is allowed.
    """
    for name, value in counts.items():
        if type(value) is bool or not isinstance(value, int) or value < 1:
            raise errors.ConfigError(f"{name} must be a whole number of at least 1, got {value!r}")
        if value > _MOST[name]:
            raise errors.ConfigError(f"{name} must be at most {_MOST[name]}, got {value!r}")
    if not (_is_number(timeout) and 0 < timeout < threading.TIMEOUT_MAX):
        raise errors.ConfigError(
            f"timeout must be a positive number of seconds, less than {threading.TIMEOUT_MAX:.0f}, got {timeout!r}"
        )
    if not (_is_number(max_error_rate) and 0 <= max_error_rate <= 1):
        raise errors.ConfigError(f"max_error_rate must be between 0 and 1, got {max_error_rate!r}")


def start_of(start: str) -> str:
    """How workers start on this system; `ConfigError` for an unknown way or one that it has not."""
    if start not in get_args(Start):
        raise errors.unknown("value of start", start, get_args(Start))
    if start == "fork" and sys.platform == "win32":
        raise errors.ConfigError("start='fork' needs a system that can fork; use start='spawn' or 'auto'")
    return "spawn" if start == "auto" and sys.platform != "linux" else start


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
