"""Decoding one token per row and step: what a session needs, and how any causal language model gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from winnow.engine.cache import SlotCache
from winnow.engine.prompts import PromptStore


class Decoder(Protocol):
    """What a session needs from a model. Live rows are always rows 0 to B-1; entries are numbered prompts."""

    def prefill(self, entries: Sequence[int], prompts: Sequence[Sequence[int]]) -> Tensor:
        """Run prompts, keep them as ``entries``; return the logits (R, V) after each last token."""
        ...

    def join(self, rows: Sequence[int], entries: Sequence[int]) -> None:
        """Let rows begin, each behind the prompt of its entry."""
        ...

    def step(self, ids_B: Tensor, positions_B: Tensor) -> Tensor:
        """Feed one token per live row at its position; return the next logits (B, V)."""
        ...

    def move(self, to: Sequence[int], source: Sequence[int], live: int) -> None:
        """Copy rows ``source`` onto rows ``to``, after which ``live`` rows are left."""
        ...


class SlotDecoder:
    """Columns and masks of a ``SlotCache``: the part of decoding that does not depend on where prompts are.

    Args:
        model: a causal language model that takes ``past_key_values``, ``position_ids`` and a 4D mask.
        slots: rows at most.
        entries: prompts kept at most.
        longest: tokens of the longest prompt.
        max_new_tokens: tokens of the longest completion.
        room: columns a row needs before the one it joins at.
    """

    def __init__(self, model: Any, *, slots: int, entries: int, longest: int, max_new_tokens: int, room: int) -> None:
        self.model = model
        self.store = PromptStore(model, entries, longest)
        self.device = self.store.device
        self.dtype: torch.dtype = next(model.parameters()).dtype
        # The slack is how many columns go by between two shifts.
        columns = room + max_new_tokens + max(16, max_new_tokens // 2)
        self.cache = SlotCache(model.config.get_text_config().num_hidden_layers, slots, columns)
        self.room = room
        self.first_S = np.zeros(slots, dtype=np.int64)
        self.hidden_SC = torch.zeros(slots, columns, device=self.device, dtype=self.dtype)
        self.live = 0
        self.cursor = room

    def prefill(self, entries: Sequence[int], prompts: Sequence[Sequence[int]]) -> Tensor:
        """See ``Decoder.prefill``."""
        return self.store.prefill(entries, prompts)

    def begin(self, rows: Sequence[int], before_R: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Let rows see columns from ``before_R`` columns ahead of the cursor on."""
        self.first_S[list(rows)] = self.cursor - before_R
        self._hide(rows)
        self.live = max(self.live, max(rows) + 1)

    def _hide(self, rows: Sequence[int]) -> None:
        columns = torch.arange(self.cache.columns, device=self.device)
        first_R1 = torch.as_tensor(self.first_S[list(rows)], device=self.device)[:, None]
        lowest = torch.finfo(self.dtype).min
        self.hidden_SC[torch.tensor(rows, device=self.device)] = (columns < first_R1).to(self.dtype) * lowest

    def step(self, ids_B: Tensor, positions_B: Tensor) -> Tensor:
        """See ``Decoder.step``."""
        first = int(self.first_S[: self.live].min())
        if self.cursor == self.cache.columns:
            first = self._shift(first)
        self.cache.window(first, self.cursor)
        logits: Tensor = self.model(
            input_ids=ids_B[:, None],
            position_ids=positions_B[:, None],
            attention_mask=self.hidden_SC[: self.live, None, None, first : self.cursor + 1],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        self.cursor += 1
        self.cache.window(first, self.cursor)
        return logits[:, -1]

    def _shift(self, first: int) -> int:
        # A prompt that joins later must still find its room before the cursor.
        by = min(first, self.cursor - self.room)
        self.cache.shift(by)
        self.cursor -= by
        self.first_S -= by
        self._hide(range(self.live))
        return first - by

    def move(self, to: Sequence[int], source: Sequence[int], live: int) -> None:
        """See ``Decoder.move``."""
        if to:
            self.cache.move(to, source)
            self.first_S[list(to)] = self.first_S[list(source)]
            self.hidden_SC[list(to)] = self.hidden_SC[list(source)]
        self.live = live
        if live == 0:
            self.cursor = self.room


class CopyingDecoder(SlotDecoder):
    """The decoder for every architecture: a row begins with a copy of its prompt's keys and values.

    Arguments as for ``SlotDecoder``, without ``room``.
    """

    def __init__(self, model: Any, *, slots: int, entries: int, longest: int, max_new_tokens: int) -> None:
        super().__init__(
            model,
            slots=slots,
            entries=entries,
            longest=longest,
            max_new_tokens=max_new_tokens,
            room=longest,
        )

    def join(self, rows: Sequence[int], entries: Sequence[int]) -> None:
        """See ``Decoder.join``."""
        lengths_R = self.store.lengths_E[list(entries)]
        begin = self.store.longest - int(lengths_R.max())
        entries_R = torch.tensor(entries, device=self.device)
        for layer, (keys, values) in enumerate(self.store.layers):
            self.cache.place(rows, layer, keys[entries_R, :, begin:], values[entries_R, :, begin:], self.cursor)
        self.begin(rows, lengths_R)
