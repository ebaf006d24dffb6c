"""What the columns of a log are called: winnow's own, TRL's, verl's, and any others by a mapping."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.errors import ConfigError, DataError, unknown
from winnow.told import LARGEST

NAMES: dict[str, tuple[str, ...]] = {
    "prompt_id": ("prompt_id",),
    "prompt": ("prompt", "input", "question", "problem"),
    "text": ("text", "completion", "output", "response"),
    "reward": ("reward", "score"),
    "outcome": ("outcome", "acc", "correct"),
    "tokens": ("tokens", "ids", "num_tokens", "completion_tokens", "response_length", "completion_length"),
    "step": ("step", "global_step"),
    "finish": ("finish", "finish_reason"),
    "parts": ("parts",),
    "entropy": ("entropy",),
    "embeddings": ("embeddings", "embedding"),
}
"""What a log may hold, and the names it is known by; the first one found is taken."""

TRL = {"completion", "advantage"}
"""Columns by which TRL's completion logs are known; their reward columns are called like the reward functions."""


@dataclass(frozen=True)
class Names:
    """Which column holds what.

    Attributes:
        of: the column of each thing in `NAMES` that the log has.
        rewards: columns whose sum is the reward.
        layout: ``TRL`` or ``columns``.
    """

    of: Mapping[str, str]
    rewards: tuple[str, ...]
    layout: str

    def reward(self, record: Mapping[str, Any]) -> float:
        """Return the reward of a record: the sum of its columns that have one; NaN where none has (unscorable).

        Raises:
            ValueError: a column is no number.
            DataError: the sum is more than a step can be told.
        """
        found = [value for name in self.rewards if math.isfinite(value := number(record, name))]
        return _tellable(sum(found), "+".join(self.rewards)) if found else math.nan

    def outcome(self, record: Mapping[str, Any]) -> float:
        """Return the verdict, NaN where there is none.

        Raises:
            ValueError: it is no number.
            DataError: it is more than a step can be told.
        """
        name = self.of.get("outcome")
        return math.nan if name is None else _tellable(number(record, name), name)

    def prompt(self, record: Mapping[str, Any]) -> str:
        """Return what tells prompts apart: the id where there is one, else the text (or messages, as JSON).

        Raises:
            ValueError: it is missing.
        """
        name = self.of.get("prompt_id") or self.of["prompt"]
        value = record.get(name)
        if value is None:
            raise ValueError(f"no {name}")
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)

    def step(self, record: Mapping[str, Any]) -> int:
        """Return the step, 0 where the log has none.

        Raises:
            ValueError: it is no whole number.
        """
        if "step" not in self.of:
            return 0
        value = record.get(self.of["step"])
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{self.of['step']}={value!r}, expected a whole number")
        return value

    def length(self, record: Mapping[str, Any]) -> int:
        """Return the length: a count, the length of a list of ids, else of the text.

        Raises:
            ValueError: it is neither.
        """
        name = self.of.get("tokens") or self.of.get("text")
        if name is None:
            return 0
        value = record.get(name)
        if isinstance(value, list | str):
            return len(value) if name == self.of.get("tokens") or isinstance(value, str) else _characters(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value):
            return int(value)
        raise ValueError(f"{name}={repr(value)[:40]}, expected a number of tokens or a list of ids")

    @property
    def unit(self) -> str:
        """What `length` counts."""
        return "tokens" if "tokens" in self.of else "characters" if "text" in self.of else ""


def recognise(columns: Iterable[str], given: Mapping[str, str], sample: Mapping[str, Any]) -> Names:
    """Find out which column holds what.

    Args:
        columns: the columns of the log.
        given: a mapping that wins over what would be guessed, such as ``{"reward": "accuracy+format"}``.
        sample: a record, to tell numbers from other columns.

    Raises:
        ConfigError: the mapping names something else than `NAMES`, or a column the log does not have.
        DataError: there is no prompt or no reward among the columns.
    """
    have = list(columns)
    for role, name in given.items():
        if role not in NAMES:
            raise unknown("--column", role, NAMES)
        for part in name.split("+") if role == "reward" else (name,):
            if part not in have:
                raise ConfigError(f"--column {role}={name}: the log has no {part!r}, only {', '.join(have)}")
    found = {role: next((name for name in known if name in have), "") for role, known in NAMES.items()}
    found = {role: name for role, name in {**found, **given}.items() if name}
    if not {"prompt", "prompt_id"} & found.keys():
        raise DataError(f"no prompt among the columns {', '.join(have)}: name it with --column prompt=NAME")
    rewards, layout = _rewards(have, found, sample)
    if not rewards:
        raise DataError(f"no reward among the columns {', '.join(have)}: name it with --column reward=NAME")
    return Names(found, rewards, layout)


def _rewards(have: Sequence[str], found: Mapping[str, str], sample: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    if "reward" in found:
        layout = (
            "winnow" if "rollout_id" in have else "verl" if {"input", "output", "score"} <= set(have) else "columns"
        )
        return tuple(found["reward"].split("+")), layout
    if not set(have) >= TRL:
        return (), ""
    taken = {*found.values(), *TRL}
    return tuple(name for name in have if name not in taken and _numeric(sample.get(name))), "TRL"


def _numeric(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _characters(messages: Sequence[Any]) -> int:
    return sum(
        len(str(each.get("content") or "")) if isinstance(each, Mapping) else len(str(each)) for each in messages
    )


def _tellable(value: float, name: str) -> float:
    if abs(value) > LARGEST:
        raise DataError(
            f"{name}={value:g}: at most {LARGEST:g} in magnitude can be compared; rescale it, or write null for none"
        )
    return value


def number(record: Mapping[str, Any], name: str) -> float:
    """Return a number; NaN for what is missing, null or not finite.

    Raises:
        ValueError: it is something else.
    """
    value = record.get(name)
    if value is None:
        return math.nan
    if not isinstance(value, int | float):
        raise ValueError(f"{name}={repr(value)[:40]}, expected a number")
    return float(value) if math.isfinite(value) else math.nan
