"""Every prompt once per epoch, in a fresh order each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.errors import ConfigError
from winnow.groups import IntArray


class Epochs:
    """Shuffled epochs without repeats; a step that crosses the edge of an epoch takes the rest from the next.

    Args:
        size: number of prompts to choose from.
        seed: the order of epoch e depends on (seed, e) alone.
    """

    def __init__(self, size: int, seed: int) -> None:
        if size < 1:
            raise ConfigError(f"a curriculum over {size} prompts: at least 1 is needed")
        self._size = size
        self._seed = seed
        self._epoch = 0
        self._position = 0
        self._order = self._shuffle()

    @property
    def epoch(self) -> float:
        """Epochs gone through, as a fraction."""
        return self._epoch + self._position / self._size

    def next(self, k: int) -> list[int]:
        """Return the positions of the next k prompts; none twice within an epoch, nor within the k.

        Raises:
            ConfigError: if k exceeds the number of prompts.
        """
        if not 1 <= k <= self._size:
            raise ConfigError(f"{k} prompts per step from {self._size} prompts: use 1 to {self._size}")
        chosen: list[int] = self._order[self._position : self._position + k].tolist()
        self._position += len(chosen)
        if len(chosen) < k:
            self._epoch += 1
            self._order = self._shuffle()
            # A prompt that already is in this step moves to the end of the new epoch's order.
            late = np.isin(self._order, chosen)
            self._order = np.concatenate((self._order[~late], self._order[late]))
            self._position = k - len(chosen)
            chosen += self._order[: self._position].tolist()
        return chosen

    def _shuffle(self) -> IntArray:
        return np.random.default_rng((self._seed, self._epoch)).permutation(self._size)

    def state_dict(self) -> dict[str, Any]:
        """Return the position, for a checkpoint."""
        return {
            "epoch": self._epoch,
            "position": self._position,
            "order": self._order.tolist(),
            "size": self._size,
            "seed": self._seed,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`.

        Raises:
            ConfigError: if the state belongs to another number of prompts or seed.
        """
        if (state["size"], state["seed"]) != (self._size, self._seed):
            raise ConfigError(
                f"the curriculum was saved for {state['size']} prompts and seed {state['seed']}, "
                f"found {self._size} and {self._seed}"
            )
        self._epoch = state["epoch"]
        self._position = state["position"]
        self._order = np.array(state["order"], np.int64)

    def metrics(self) -> dict[str, float]:
        """Return what a log should show."""
        return {"epoch": self.epoch}
