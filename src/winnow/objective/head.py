"""Split a causal language model into its decoder and its head, where the head alone gives the logits."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from winnow.engine.modes import evaluating


class Split(NamedTuple):
    """A model in two parts: ``decoder`` gives hidden states, ``head`` turns them into logits."""

    decoder: Any
    head: nn.Module


_SPLITS: WeakKeyDictionary[nn.Module, Split | None] = WeakKeyDictionary()


def split(model: Any) -> Split | None:
    """Return decoder and head, or None when the model does more than apply its head (scaling, soft-capping).

    Judged once per model by structure and by comparing both ways on two tokens. Adapters of peft that live
    inside the layers stay active; prompt-learning adapters give None.
    """
    if model not in _SPLITS:
        _SPLITS[model] = _find(model)
    return _SPLITS[model]


def _find(model: Any) -> Split | None:
    base = model
    if hasattr(model, "peft_config"):
        if any(getattr(config, "is_prompt_learning", False) for config in model.peft_config.values()):
            return None
        base = model.get_base_model()
    head = base.get_output_embeddings()
    decoder = getattr(base, getattr(base, "base_model_prefix", ""), None)
    if head is None or decoder is None or decoder is base:
        return None
    # Zero for small logits, so the comparison below cannot see it.
    if getattr(base.config.get_text_config(), "final_logit_softcapping", None):
        return None
    ids = torch.tensor([[0, 1]], device=next(model.parameters()).device)
    with evaluating(model):
        whole = model(input_ids=ids, use_cache=False).logits
        parts: Tensor = head(decoder(input_ids=ids, use_cache=False).last_hidden_state)
    return Split(decoder, head) if torch.allclose(whole, parts, rtol=1e-3, atol=1e-5) else None
