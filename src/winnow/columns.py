"""Further facts about rollouts, beside reward and length, for the rules that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError, unknown

COLUMNS = {
    "answers": "the answer of each rollout in a normal form, as text; equal texts are one answer",
    "scores": "float, a judgement of the steps of each rollout in [-1, 1] or [0, 1], such as a process reward",
    "embeddings": "float (k, D), a vector for the meaning of each rollout",
    "entropy": "float, mean negative log-probability of the sampled tokens",
    "truncated": "bool, cut off by the length limit",
}
"""What `Step.tell` takes by name."""

ALWAYS = ("lengths", "outcomes", "depth", "advantages")
"""Columns every step has: tokens, verdicts, how often the path of a rollout has branched, and (for selection rules)
advantages over the whole group."""

Column = npt.NDArray[Any]
Rule = TypeVar("Rule", bound=Callable[..., Any])


def needs(*names: str) -> Callable[[Rule], Rule]:
    """Declare that a rule takes these columns as keyword arguments (a decorator)."""

    def mark(rule: Rule) -> Rule:
        rule.needs = names  # type: ignore[attr-defined]
        return rule

    return mark


def wanted(part: object) -> tuple[str, ...]:
    """Return the columns a part of a recipe uses where a host has them (it says so with ``wants``)."""
    return tuple(getattr(part, "wants", ()))


def own_signal(rule: Rule) -> Rule:
    """Declare that an advantage rule learns from groups of equal rewards too (a decorator)."""
    rule.own_signal = True  # type: ignore[attr-defined]
    return rule


def needed(part: object) -> tuple[str, ...]:
    """Return the columns a part of a recipe takes."""
    return tuple(getattr(part, "needs", ()))


class Columns:
    """The columns of one step, collected piece by piece.

    Args:
        wanted: names that have to come with every piece; others are checked and dropped.
        who: the recipe, for messages.
        optional: names of float columns that are NaN where a piece comes without them.
    """

    def __init__(self, wanted: Iterable[str], who: str, optional: Iterable[str] = ()) -> None:
        self._optional = tuple(optional)
        self._wanted = tuple(name for name in dict.fromkeys(wanted) if name not in ALWAYS)
        self._who = who
        self._pieces: dict[str, list[Column]] = {name: [] for name in (*self._wanted, *self._optional)}

    def check(self, count: int, given: Mapping[str, Sequence[Any] | npt.ArrayLike]) -> dict[str, Column]:
        """Return the wanted columns of ``count`` rollouts as arrays.

        Raises:
            ConfigError: if a name is unknown, or a wanted column is missing.
            ValueError: if a column has another length.
        """
        for name in given:
            if name not in COLUMNS:
                raise unknown("column", name, COLUMNS)
        found = {}
        filled = {name: np.full(count, np.nan) for name in self._optional} | dict(given)
        for name in self._pieces:
            if name not in filled:
                raise ConfigError(
                    f"recipe {self._who!r} needs tell(..., {name}=...): {COLUMNS[name]}; choose another recipe where "
                    "your loop does not have it"
                )
            values = np.asarray(filled[name], object if name == "answers" else np.float64)
            if len(values) != count or values.ndim != (2 if name == "embeddings" else 1):
                raise ValueError(f"tell: {name} has shape {values.shape} for {count} rollouts")
            found[name] = values
        return found

    def add(self, piece: Mapping[str, Column]) -> None:
        """Keep what `check` returned."""
        for name, values in piece.items():
            self._pieces[name].append(values)

    def joined(self) -> dict[str, Column]:
        """Return every column over all rollouts in the order told."""
        return {name: np.concatenate(pieces) if pieces else np.zeros(0) for name, pieces in self._pieces.items()}
