"""Prefill: each prompt goes through the model once, and its keys and values stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache


class PromptStore:
    """Keys and values of up to ``entries`` prompts, per layer (entries, heads, longest, head size).

    A prompt of L tokens fills the last L columns of its entry; the columns before hold zeros or what an earlier
    prompt left there, always finite and never looked at.

    Args:
        model: a causal language model.
        entries: prompts kept at most.
        longest: tokens of the longest prompt.
    """

    def __init__(self, model: Any, entries: int, longest: int) -> None:
        self.model = model
        self.device: torch.device = next(model.parameters()).device
        self.longest = longest
        self.lengths_E = np.zeros(entries, dtype=np.int64)
        self.layers: list[tuple[Tensor, Tensor]] = []

    def prefill(self, entries: Sequence[int], prompts: Sequence[Sequence[int]]) -> Tensor:
        """Run prompts and keep them; return the logits (R, V) after the last token of each.

        Prompts are padded on the right, where causality hides the padding.
        """
        lengths = [len(prompt) for prompt in prompts]
        width = max(lengths)
        padded = [[*prompt, *([0] * (width - len(prompt)))] for prompt in prompts]
        ends_U, which_R = np.unique(np.array(lengths) - 1, return_inverse=True)
        cache = DynamicCache()
        logits_RUV = self.model(
            input_ids=torch.tensor(padded, device=self.device),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=torch.from_numpy(ends_U).to(self.device),
        ).logits
        self._keep(entries, lengths, [(layer.keys, layer.values) for layer in cache.layers])
        logits_RV: Tensor = logits_RUV[torch.arange(len(prompts)), torch.from_numpy(which_R)]
        return logits_RV

    def _keep(self, entries: Sequence[int], lengths: list[int], layers: list[tuple[Tensor, Tensor]]) -> None:
        capacity = len(self.lengths_E)
        if not self.layers:
            self.layers = [(self._room(keys, capacity), self._room(values, capacity)) for keys, values in layers]
        self.lengths_E[list(entries)] = lengths
        for kept, computed in zip(self.layers, layers, strict=True):
            for target, source in zip(kept, computed, strict=True):
                for row, (entry, length) in enumerate(zip(entries, lengths, strict=True)):
                    target[entry, :, self.longest - length :] = source[row, :, :length]

    def _room(self, like: Tensor, capacity: int) -> Tensor:
        return like.new_zeros(capacity, like.shape[1], self.longest, like.shape[3])
