"""Decoding in which the rollouts of a prompt read one copy of its keys and values.

A step of a small model is bound by reading the cache. Here only a row's own tokens live in its slot; the queries
of all rows of a prompt meet its keys in one matrix product, and both parts are joined in one softmax.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from winnow.engine.decoder import SlotDecoder

ATTENTION = "winnow_shared_prompt"

# Their attention is scale, mask, softmax: no soft-capping, sinks or alternating windows. Each has a test.
ARCHITECTURES = frozenset({"llama", "qwen2", "qwen3", "gpt2", "mistral"})


class SharedPromptDecoder(SlotDecoder):
    """The decoder for plain attention architectures. Arguments as for ``SlotDecoder``, without ``room``."""

    def __init__(self, model: Any, *, slots: int, entries: int, longest: int, max_new_tokens: int) -> None:
        super().__init__(model, slots=slots, entries=entries, longest=longest, max_new_tokens=max_new_tokens, room=0)
        self.entry_S = np.zeros(slots, dtype=np.int64)
        self._layout: Layout | None = None

    @staticmethod
    def fits(model: Any) -> bool:
        """Return whether the model's attention can be replaced by ``shared_attention``."""
        config = model.config.get_text_config()
        plain = not getattr(config, "reorder_and_upcast_attn", False)
        return plain and config.model_type in ARCHITECTURES

    def join(self, rows: Sequence[int], entries: Sequence[int]) -> None:
        """See ``Decoder.join``."""
        self.begin(rows, np.zeros(len(rows), dtype=np.int64))
        self.entry_S[list(rows)] = list(entries)
        self._layout = None

    def step(self, ids_B: Tensor, positions_B: Tensor) -> Tensor:
        """See ``Decoder.step``."""
        if self._layout is None:
            self._layout = Layout(self.entry_S[: self.live], self.store.lengths_E, self.store.longest, self)
        with _attention(self.model.config.get_text_config(), self._layout):
            return super().step(ids_B, positions_B)

    def move(self, to: Sequence[int], source: Sequence[int], live: int) -> None:
        """See ``Decoder.move``."""
        super().move(to, source, live)
        if to:
            self.entry_S[list(to)] = self.entry_S[list(source)]
        self._layout = None


class Layout:
    """Rows arranged in G blocks of N places, each block behind one prompt.

    While the groups are about equal, block g is entry g and the store is read in place; when that would leave
    too many places empty, large groups are cut into several blocks and the keys are gathered.
    """

    def __init__(
        self,
        entry_B: np.ndarray[Any, np.dtype[np.int64]],
        lengths_E: np.ndarray[Any, np.dtype[np.int64]],
        longest: int,
        decoder: SharedPromptDecoder,
    ) -> None:
        device, rows = decoder.device, len(entry_B)
        counts_E = np.bincount(entry_B)
        order_B = np.argsort(entry_B, kind="stable")
        rank_B = np.empty(rows, dtype=np.int64)
        rank_B[order_B] = np.arange(rows) - np.repeat(np.cumsum(counts_E) - counts_E, counts_E)
        width, block_B, blocks = int(counts_E.max()), entry_B, np.arange(len(counts_E))
        self.gather: Tensor | None = None
        if len(counts_E) * width > 2 * rows + 32:
            width = max(1, rows // int((counts_E > 0).sum()))
            per_E = -(-counts_E // width)
            block_B = (np.cumsum(per_E) - per_E)[entry_B] + rank_B // width
            rank_B = rank_B % width
            blocks = np.repeat(np.arange(len(counts_E)), per_E)
            self.gather = torch.from_numpy(blocks).to(device)
        place_B = block_B * width + rank_B
        row_GN = np.zeros(len(blocks) * width, dtype=np.int64)
        row_GN[place_B] = np.arange(rows)
        self.blocks, self.width = len(blocks), width
        self.row_GN = torch.from_numpy(row_GN).to(device)
        self.place_B = torch.from_numpy(place_B).to(device)
        lengths_G = lengths_E[blocks]
        self.begin = longest - int(lengths_G.max())
        columns = np.arange(self.begin, longest)
        hidden_GL = (columns < longest - lengths_G[:, None]).astype(np.float32) * torch.finfo(decoder.dtype).min
        self.hidden_GL = (
            torch.from_numpy(hidden_GL).to(device, decoder.dtype)[:, None, None] if hidden_GL.any() else None
        )
        self.layers = decoder.store.layers

    def prompt(self, layer: int) -> tuple[Tensor, Tensor]:
        """Return keys and values (G, heads, L, size) of a layer."""
        keys, values = (x[:, :, self.begin :] for x in self.layers[layer])
        if self.gather is None:
            return keys[: self.blocks], values[: self.blocks]
        return keys[self.gather], values[self.gather]


_LAYOUT: ContextVar[Layout | None] = ContextVar("winnow_layout", default=None)


@contextmanager
def _attention(config: Any, layout: Layout) -> Iterator[None]:
    usual = config._attn_implementation
    token = _LAYOUT.set(layout)
    config._attn_implementation = ATTENTION
    try:
        yield
    finally:
        config._attn_implementation = usual
        _LAYOUT.reset(token)


def shared_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attend from one token per row to the row's own columns and to the prompt of its block.

    Called by ``transformers`` in place of the model's attention.

    Args:
        module: the attention module; its ``layer_idx`` says which keys of the prompt to read.
        query: (B, query heads, 1, D).
        key: the row's own keys (B, heads, W, D).
        value: the row's own values, as ``key``.
        attention_mask: (B, 1, 1, W), added to the scores.
        scaling: of the scores; None is 1 / sqrt(D).
        kwargs: dropout and the like, off while sampling.

    Returns:
        Output (B, 1, query heads, D), and no weights.
    """
    layout = _LAYOUT.get()
    assert layout is not None
    rows, heads, _, size = key.shape
    shared = query.shape[1] // heads
    query = query * (size**-0.5 if scaling is None else scaling)
    own = torch.matmul(query.view(rows, heads, shared, size), key.transpose(2, 3)) + attention_mask

    prompt_keys, prompt_values = layout.prompt(module.layer_idx)
    blocks, width = layout.blocks, layout.width
    query_GN = query[layout.row_GN].view(blocks, width, heads, shared, size).transpose(1, 2)
    behind = torch.matmul(query_GN.reshape(blocks, heads, width * shared, size), prompt_keys.transpose(2, 3))
    if layout.hidden_GL is not None:
        behind = behind + layout.hidden_GL
    length = behind.shape[-1]
    behind = behind.view(blocks, heads, width, shared, length).transpose(1, 2)
    behind = behind.reshape(blocks * width, heads, shared, length)[layout.place_B]

    weights = torch.cat((behind, own), -1).softmax(-1, dtype=torch.float32).to(query.dtype)
    from_own = torch.matmul(weights[..., length:], value)
    weights_GN = weights[layout.row_GN, ..., :length].view(blocks, width, heads, shared, length).transpose(1, 2)
    from_prompt = torch.matmul(weights_GN.reshape(blocks, heads, width * shared, length), prompt_values)
    from_prompt = from_prompt.view(blocks, heads, width, shared, size).transpose(1, 2)
    from_prompt = from_prompt.reshape(blocks * width, heads, shared, size)[layout.place_B]
    return (from_own + from_prompt).view(rows, 1, heads * shared, size), None


ALL_ATTENTION_FUNCTIONS.register(ATTENTION, shared_attention)
