"""Hidden states of completions, with the prompt they share computed once, gradients included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import Cache

from winnow.engine.layer import Layer


class PrefixLayer(Layer):
    """Keys and values of P prompts in one layer, seen by R rows; gradients flow back into the prompts.

    Args:
        keys: (P, heads, L, size).
        values: as ``keys``.
        prompt_R: which prompt each row stands behind.
    """

    def __init__(self, keys: Tensor, values: Tensor, prompt_R: Tensor) -> None:
        super().__init__()
        self.keys, self.values, self.prompt_R = keys, values, prompt_R
        self.is_initialized = True

    def lazy_initialization(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the layer begins full."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the keys and values of each row's prompt followed by its own."""
        keys = torch.cat((self.keys.index_select(0, self.prompt_R), key_states), dim=2)
        values = torch.cat((self.values.index_select(0, self.prompt_R), value_states), dim=2)
        return keys, values

    def get_mask_sizes(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """Return the number of prompt columns and the first of them; the mask is always given."""
        return self.get_seq_length(), 0

    def get_seq_length(self, *args: Any, **kwargs: Any) -> int:
        """Return the columns of the longest prompt."""
        return int(self.keys.shape[2])


def shares_prompts(model: Any, prompts: Sequence[tuple[int, ...]], longest: int) -> bool:
    """Return whether computing prompts apart from completions saves work and is exact for this model.

    It needs a 4D attention mask and a cache in the forward pass: no flash attention, no gradient checkpointing,
    no sliding window shorter than the rows.
    """
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
    return (
        len(set(prompts)) < len(prompts)
        and config._attn_implementation in ("sdpa", "eager")
        and not getattr(model, "is_gradient_checkpointing", False)
        and (window is None or longest <= window)
    )


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return token ids (R, longest), padded on the right with 0, where causality hides the padding."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *([0] * (width - len(row)))] for row in rows], device=device)


def shared_hidden(decoder: Any, prompts: Sequence[tuple[int, ...]], completions: Sequence[Sequence[int]]) -> Tensor:
    """Return the hidden states (R, T, H) that predict each completion token; padding holds anything finite.

    Args:
        decoder: the model without its head.
        prompts: of each row; equal ones are computed once.
        completions: of each row.
    """
    device = next(decoder.parameters()).device
    unique = list(dict.fromkeys(prompts))
    index = {prompt: number for number, prompt in enumerate(unique)}
    prompt_R = torch.tensor([index[prompt] for prompt in prompts], device=device)
    lengths_P = torch.tensor([len(prompt) for prompt in unique], device=device)
    cache = DynamicCache()
    prompt_PLH = decoder(input_ids=padded(unique, device), past_key_values=cache, use_cache=True).last_hidden_state
    last_PH = prompt_PLH[torch.arange(len(unique), device=device), lengths_P - 1]
    first_R1H: Tensor = last_PH.index_select(0, prompt_R)[:, None]
    # The last token of a completion predicts nothing, so it is not fed.
    fed = [list(completion[:-1]) for completion in completions]
    if max(map(len, fed)) == 0:
        return first_R1H
    ids_RT = padded(fed, device)
    lengths_R1 = lengths_P[prompt_R][:, None]
    steps = torch.arange(ids_RT.shape[1], device=device)
    columns = torch.arange(prompt_PLH.shape[1], device=device)
    dtype = prompt_PLH.dtype
    before_RTL = (columns >= lengths_R1)[:, None].expand(-1, len(steps), -1)
    after_RTT = (steps[None, :] > steps[:, None]).expand(len(fed), -1, -1)
    hidden_RTC = torch.cat((before_RTL, after_RTT), -1).to(dtype) * torch.finfo(dtype).min
    layers = [PrefixLayer(layer.keys, layer.values, prompt_R) for layer in cache.layers]
    rest_RTH = decoder(
        input_ids=ids_RT,
        position_ids=lengths_R1 + steps,
        attention_mask=hidden_RTC[:, None],
        past_key_values=Cache(layers=layers),
        use_cache=True,
    ).last_hidden_state
    return torch.cat((first_R1H, rest_RTH), dim=1)
