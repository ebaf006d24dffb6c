"""Tiny random models, with weights large enough that their choices are not all alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers

VOCABULARY = 40
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def build(kind: str, **changes: Any) -> Any:
    torch.manual_seed(0)
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=128,
            bos_token_id=None, eos_token_id=None, **changes,
        )  # fmt: skip
        model = transformers.GPT2LMHeadModel(config)
    else:
        names = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "mistral": "Mistral", "gemma": "Gemma"}
        settings = {"vocab_size": VOCABULARY, "num_key_value_heads": 2, "max_position_embeddings": 128}
        settings |= SIZES | {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
        if kind in ("qwen3", "gemma"):
            settings["head_dim"] = 8
        config = getattr(transformers, names[kind] + "Config")(**(settings | changes))
        model = getattr(transformers, names[kind] + "ForCausalLM")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)
    return model.eval()


def ragged_prompts(lengths: tuple[int, ...] = (3, 9, 5, 1)) -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [rng.integers(3, VOCABULARY, size=length).tolist() for length in lengths]
