"""Which rollouts of each prompt are kept, and under which number their host keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.errors import ConfigError
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
        kept = {
            int(prompt): ([int(number) for number in numbers], [float(value) for value in values])
            for prompt, numbers, values in state["kept"]
        }
        numbers = [number for handles, _ in kept.values() for number in handles]
        values = [value for _, rewards in kept.values() for value in rewards]
        fits = all(len(handles) == len(rewards) for handles, rewards in kept.values())
        if not fits or len(set(numbers)) < len(numbers) or not np.isfinite(values).all():
            raise ConfigError("stored rollouts have numbers that repeat, or rewards that are missing or not finite")
        if int(state["next"]) <= max(numbers, default=-1) or min(numbers, default=0) < 0:
            raise ConfigError(f"the next rollout would be number {state['next']}, which is taken")
        self._next, self._kept = int(state["next"]), kept
