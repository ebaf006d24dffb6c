"""A key-value cache of fixed size for ``transformers`` models, in which rows come and go.

Every live row writes its next key and value into the same column, so a step is one slice write per layer
and never a concatenation. Columns before a row joined are hidden by its mask, and positions are passed to the
model per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from winnow.engine.layer import Layer


class SlotLayer(Layer):
    """Keys and values of one layer, (slots, heads, columns, head size), allocated at the first write."""

    def __init__(self, slots: int, columns: int) -> None:
        super().__init__()
        self.slots, self.columns = slots, columns
        self.first = 0
        self.cursor = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor | None = None) -> None:
        """Allocate zeros of the heads, head size, type and device of the first keys.

        Zeros and not empty memory: a masked column enters the weighted sum with weight 0, and 0 x NaN is NaN.
        """
        values = key_states if value_states is None else value_states
        _, heads, _, size = key_states.shape
        self.keys = key_states.new_zeros(self.slots, heads, self.columns, size)
        self.values = values.new_zeros(self.slots, values.shape[1], self.columns, values.shape[-1])
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write one column for the first B rows; return views of their visible columns."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        rows, end = key_states.shape[0], self.cursor + key_states.shape[2]
        self.keys[:rows, :, self.cursor : end] = key_states
        self.values[:rows, :, self.cursor : end] = value_states
        return self.keys[:rows, :, self.first : end], self.values[:rows, :, self.first : end]

    def move(self, to: Tensor, source: Tensor) -> None:
        """Copy whole rows."""
        visible = slice(self.first, self.cursor)
        for buffer in (self.keys, self.values):
            buffer[to, :, visible] = buffer[source, :, visible]

    def shift(self, by: int) -> None:
        """Move every column before the cursor ``by`` to the left."""
        for buffer in (self.keys, self.values):
            buffer[:, :, : self.cursor - by] = buffer[:, :, by : self.cursor].clone()

    def get_mask_sizes(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """Return the number of visible columns and the first of them."""
        return self.cursor + 1 - self.first, 0

    def get_seq_length(self, *args: Any, **kwargs: Any) -> int:
        """Return how many columns hold something; positions never come from it."""
        return self.cursor - self.first

    def get_max_length(self) -> int:
        """Return the number of columns."""
        return self.columns


class SlotCache(Cache):  # type: ignore[misc]
    """One ``SlotLayer`` per layer of the model, and the window of columns they show.

    Args:
        layers: number of layers of the model.
        slots: rows at most.
        columns: columns at most.
    """

    def __init__(self, layers: int, slots: int, columns: int) -> None:
        super().__init__(layers=[SlotLayer(slots, columns) for _ in range(layers)])
        self.slots, self.columns = slots, columns

    def window(self, first: int, cursor: int) -> None:
        """Show columns from ``first`` on and write the next one at ``cursor``."""
        for layer in self.layers:
            layer.first, layer.cursor = first, cursor

    def place(self, rows: Sequence[int], layer: int, keys: Tensor, values: Tensor, end: int) -> None:
        """Lay prompts (R, heads, L, size) into columns ``[end - L, end)`` of the given rows."""
        slot_layer = self.layers[layer]
        if not slot_layer.is_initialized:
            slot_layer.lazy_initialization(keys, values)
        target: Any = list(rows)
        if target == list(range(target[0], target[0] + len(target))):
            target = slice(target[0], target[0] + len(target))
        start = end - keys.shape[2]
        slot_layer.keys[target, :, start:end] = keys
        slot_layer.values[target, :, start:end] = values

    def move(self, to: Sequence[int], source: Sequence[int]) -> None:
        """Copy rows ``source`` onto rows ``to`` in every layer."""
        device = self.layers[0].keys.device
        to_R, source_R = torch.tensor(to, device=device), torch.tensor(source, device=device)
        for layer in self.layers:
            layer.move(to_R, source_R)

    def shift(self, by: int) -> None:
        """Move the columns of every layer ``by`` to the left."""
        for layer in self.layers:
            layer.shift(by)
