"""The last outcomes of each prompt as bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory

WIDEST = 52
"""A float64 holds this many bits exactly."""


class Buffer:
    """A window over the last outcomes of each prompt.

    The outcomes of one step have no order: they enter with the successes spread evenly, so that cutting the window
    anywhere keeps their share up to one outcome.

    Args:
        window: outcomes kept, at most `WIDEST`.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._memory = Memory(bits=0.0, held=0.0)

    def push(self, ids: IntArray, successes: IntArray, valid: IntArray) -> None:
        """Append ``valid`` outcomes (P,), of which ``successes`` (P,), for each prompt. Complexity: O(P window)."""
        bits = self._memory.get("bits", ids).astype(np.int64)
        size = np.maximum(valid, 1)
        mask = (1 << self._window) - 1
        for step in range(self._window, 0, -1):  # only the last `window` outcomes of a step can stay
            place = valid - step
            new = (place + 1) * successes // size - place * successes // size
            bits = np.where(place >= 0, (bits << 1 | new) & mask, bits)
        self._memory.set("bits", ids, bits)
        self._memory.set("held", ids, np.minimum(self._window, self._memory.get("held", ids) + valid))

    def rates(self, ids: IntArray, known: int) -> FloatArray:
        """Return the share of successes (P,), NaN where fewer than ``known`` outcomes are held."""
        bits, held = self._memory.get("bits", ids).astype(np.int64), self._memory.get("held", ids)
        ones = sum((bits >> place) & 1 for place in range(self._window))
        return np.where(held >= known, ones / np.maximum(held, 1), np.nan)

    def state_dict(self) -> dict[str, Any]:
        """Return the windows."""
        return self._memory.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._memory.load_state_dict(state)
