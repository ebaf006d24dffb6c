"""Options of a data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from winnow import errors
from winnow.task.prompts import check_template
from winnow.task.read import FORMATS

LAST_TURN = ("refuse", "gold", "drop")

_TYPES: Mapping[str, tuple[type, ...]] = {
    "str | None": (str, type(None)),
    "Mapping[str, Any]": (Mapping,),
    "float": (float, int),
    "int": (int,),
    "str": (str,),
    "int | None": (int, type(None)),
    "bool": (bool,),
}


@dataclass(frozen=True)
class FileOptions:
    """How to read a data file.

    Attributes:
        prompt_column: column of the prompt, or several separated by commas; None recognises common layouts.
        answer_column: column of the gold answer, dots reach into objects; None recognises common layouts.
        reward: see `winnow.reward.load`; None is exact match, on the last number of the completion if all
            golds are numbers and on the whole of it otherwise.
        reward_options: options of that reward.
        test_path: a second file to test on; None holds rows of the first one out.
        test_fraction: share of the distinct prompts to hold out, in [0, 1).
        test_limit: the most prompts to hold out, and the most rows read from ``test_path``.
        drop_bad_rows: leave rows that cannot be used out (they are counted) instead of refusing the file.
        last_turn: what to do with a conversation that ends in a turn of the assistant: ``refuse`` the row, take
            the turn as the ``gold`` answer, or ``drop`` it.
        split: the split of a folder to train on; None is ``train``, or the only one there is.
        format: one of `winnow.task.read.FORMATS`; None goes by the suffix.
        template: text with ``{prompt}`` around every prompt.
        system: system message before every prompt, which makes it a chat prompt.
        limit: the first rows to read; None reads all.
    """

    prompt_column: str | None = None
    answer_column: str | None = None
    reward: str | None = None
    reward_options: Mapping[str, Any] = field(default_factory=dict)
    test_path: str | None = None
    test_fraction: float = 0.1
    test_limit: int = 500
    drop_bad_rows: bool = False
    last_turn: str = "refuse"
    split: str | None = None
    format: str | None = None
    template: str | None = None
    system: str | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        check_template(self.template)
        if self.format is not None and self.format not in FORMATS:
            raise errors.unknown("data format", self.format, FORMATS)
        if self.last_turn not in LAST_TURN:
            raise errors.unknown("value of last_turn", self.last_turn, LAST_TURN)
        if self.last_turn == "gold" and self.answer_column is not None:
            raise errors.ConfigError(
                f"last_turn='gold' and answer_column={self.answer_column!r} both say where the gold is; set one of them"
            )
        if not 0.0 <= self.test_fraction < 1.0:
            raise errors.ConfigError(f"test_fraction must be at least 0 and below 1, got {self.test_fraction}")
        for name in ("limit", "test_limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise errors.ConfigError(f"{name} must be at least 1, got {value}")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> FileOptions:
        """Build from a mapping.

        Raises:
            ConfigError: for an unknown name, a value of the wrong type or out of range.
        """
        allowed = {f.name: f.type for f in fields(cls)}
        for name, value in options.items():
            if name not in allowed:
                raise errors.unknown("option of a data file", name, allowed)
            _check_type(name, value, str(allowed[name]))
        return cls(**options)


def _check_type(name: str, value: Any, annotation: str) -> None:
    allowed = _TYPES[annotation]
    # A boolean is an int to Python, but test_fraction = true is a mistake.
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        expected = annotation.replace(" | None", "").replace("Mapping[str, Any]", "table")
        raise errors.ConfigError(f"{name} must be of type {expected}, got {type(value).__name__} {value!r}")
