"""What a rule remembers of prompts from step to step: columns of numbers by prompt id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray


class Memory:
    """A table with one row per prompt seen; a prompt never seen has the initial values.

    Args:
        **initial: the columns and what a new prompt has in them.

    Reading does not add rows, so what was only looked at costs no memory. Complexity: O(len(ids)) per call.
    """

    def __init__(self, **initial: float) -> None:
        self._initial = initial
        self._row: dict[int, int] = {}
        self._columns = {name: np.full(16, value, np.float64) for name, value in initial.items()}

    def __len__(self) -> int:
        """Return how many prompts are remembered."""
        return len(self._row)

    @property
    def ids(self) -> IntArray:
        """The prompts remembered, in the order in which they were first written."""
        return np.fromiter(self._row, np.int64, len(self._row))

    def __contains__(self, prompt: int) -> bool:
        """Say whether something was written about a prompt."""
        return prompt in self._row

    def known(self, ids: IntArray) -> npt.NDArray[np.bool_]:
        """Return bool (P,): something was written about the prompt."""
        return self._rows(ids) >= 0

    def get(self, name: str, ids: IntArray) -> FloatArray:
        """Return a column (P,) for these prompts."""
        rows = self._rows(ids)
        return np.where(rows >= 0, self._columns[name][rows], self._initial[name])

    def set(self, name: str, ids: IntArray, values: npt.ArrayLike) -> None:
        """Write a column (P,) for these prompts, each of them once."""
        rows = self._grown(ids)
        self._columns[name][rows] = values

    def add(self, name: str, ids: IntArray, values: npt.ArrayLike) -> None:
        """Add to a column (P,) for these prompts, each of them once."""
        rows = self._grown(ids)
        self._columns[name][rows] += np.asarray(values, np.float64)

    def column(self, name: str) -> FloatArray:
        """Return a column for all prompts remembered, in the order of `ids`."""
        return self._columns[name][: len(self._row)].copy()

    def _rows(self, ids: IntArray) -> IntArray:
        find = self._row.get
        return np.fromiter((find(prompt, -1) for prompt in ids.tolist()), np.int64, len(ids))

    def _grown(self, ids: IntArray) -> IntArray:
        for prompt in ids.tolist():
            self._row.setdefault(prompt, len(self._row))
        size = len(next(iter(self._columns.values())))
        if len(self._row) > size:
            more = max(len(self._row), 2 * size) - size
            self._columns = {
                name: np.concatenate((column, np.full(more, self._initial[name])))
                for name, column in self._columns.items()
            }
        return self._rows(ids)

    def state_dict(self) -> dict[str, Any]:
        """Return ids and columns as lists, for a checkpoint."""
        return {"ids": list(self._row), "columns": {name: self.column(name).tolist() for name in self._initial}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace everything by `state_dict`.

        Raises:
            ConfigError: if the state has other columns.
        """
        if state["columns"].keys() != self._initial.keys():
            raise ConfigError(
                f"the checkpoint remembers {sorted(state['columns'])} of each prompt, this rule {sorted(self._initial)}"
            )
        ids = np.asarray(state["ids"] or np.zeros(0, np.int64))
        columns = {name: np.array(column, np.float64) for name, column in state["columns"].items()}
        if ids.ndim != 1 or ids.dtype.kind != "i" or len(np.unique(ids)) < len(ids):
            raise ConfigError("the checkpoint's prompt ids are not whole numbers that differ")
        for name, column in columns.items():
            if column.shape != ids.shape or np.isnan(column).any():
                raise ConfigError(f"the checkpoint has {column.shape} values of {name} for {len(ids)} prompts, or NaN")
        self._row = {prompt: row for row, prompt in enumerate(ids.tolist())}
        self._columns = columns
        if not self._row:
            self._columns = {name: np.full(16, value, np.float64) for name, value in self._initial.items()}
