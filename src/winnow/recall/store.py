"""Which rollouts of each prompt are kept, and under which number their host keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.groups import FloatArray, IntArray


class Store:
    """First in, first out, per prompt. It holds numbers and rewards; the rollouts lie with the host."""

    def __init__(self) -> None:
        self._next = 0
        self._kept: dict[int, tuple[list[int], list[float]]] = {}

    def of(self, prompt: int) -> tuple[IntArray, FloatArray]:
        """Return handles and rewards of a prompt, oldest first."""
        handles, rewards = self._kept.get(prompt, ([], []))
        return np.array(handles, np.int64), np.array(rewards, np.float64)

    def keep(self, ids: IntArray, owners: IntArray, rewards: FloatArray, capacity: int) -> tuple[IntArray, IntArray]:
        """Add rollouts, the newest ``capacity`` of each prompt staying; see `winnow.recall.Repo.keep`."""
        handles = np.full(len(rewards), -1, np.int64)
        scorable = np.flatnonzero(np.isfinite(rewards))
        handles[scorable] = self._next + np.arange(len(scorable))
        self._next += len(scorable)
        for row in scorable.tolist():
            numbers, values = self._kept.setdefault(int(ids[owners[row]]), ([], []))
            numbers.append(int(handles[row]))
            values.append(float(rewards[row]))
        dropped: list[int] = []
        for prompt in set(ids[owners[scorable]].tolist()):
            numbers, values = self._kept[prompt]
            dropped += numbers[:-capacity]
            del numbers[:-capacity], values[:-capacity]
        gone = np.array(sorted(dropped), np.int64)
        handles[np.isin(handles, gone)] = -1
        return handles, gone

    def state_dict(self) -> dict[str, Any]:
        """Return everything, as plain values."""
        kept = [[prompt, numbers, values] for prompt, (numbers, values) in self._kept.items()]
        return {"next": self._next, "kept": kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._next = int(state["next"])
        self._kept = {int(prompt): (list(numbers), list(values)) for prompt, numbers, values in state["kept"]}
