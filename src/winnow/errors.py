"""What can go wrong, in one place; each error also is the standard exception it refines.

A message says what was found, what is allowed, and which setting to change. The command line turns
each class into its exit code: 2 for bad input found before training, 3 for a safety limit.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WinnowError(Exception):
    """Base of every error winnow raises on purpose."""

    exit_code = 2


class ConfigError(WinnowError, ValueError):
    """A setting is unknown, out of range, or in conflict with another one."""


class DataError(WinnowError, ValueError):
    """A data file or one of its rows cannot be used; the message names file and line."""


class RewardError(WinnowError, RuntimeError):
    """A reward function broke its contract; the message names function, prompt and rollout."""

    exit_code = 3


class BudgetError(WinnowError, RuntimeError):
    """More was generated, or told, than the budget granted."""

    exit_code = 3


class ResumeError(WinnowError, RuntimeError):
    """A checkpoint belongs to another run; the message shows the difference."""


class SafetyStop(WinnowError, RuntimeError):
    """A limit that protects the run was reached (steps without signal, non-finite loss, full disk)."""

    exit_code = 3


class MissingExtra(WinnowError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class GroupWarning(UserWarning):
    """Groups look wrong, as when every group has one member and no baseline exists."""


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the closest of ``allowed``, or an empty string."""
    close = difflib.get_close_matches(str(word), list(allowed), n=1, cutoff=0.6)
    return f", did you mean {close[0]!r}?" if close else ""


def unknown(what: str, word: str, allowed: Iterable[str]) -> ConfigError:
    """Build the error for a name that is not among ``allowed``: it lists them and suggests the nearest."""
    names = sorted(allowed)
    return ConfigError(f"unknown {what} {word!r}{did_you_mean(word, names)} (allowed: {', '.join(names)})")
