"""Random models, prompts and a character tokenizer that several benchmarks share."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import torch

CHARACTERS = string.ascii_letters + string.digits  # with padding and end of sequence: 64 ids
PAD, EOS = 0, 1


def llama(width: int = 256, layers: int = 6, seed: int = 0) -> Any:
    """Return a random character-level Llama; the default has 4.8 M weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(CHARACTERS) + 2,
        hidden_size=width,
        intermediate_size=-(-width * 8 // 3 // 8) * 8,
        num_hidden_layers=layers,
        num_attention_heads=max(1, width // 64),
        max_position_embeddings=1024,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


def tokenizer() -> Any:
    """Return the tokenizer of ``llama``: one id per character."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<pad>": PAD, "<eos>": EOS} | {c: i + 2 for i, c in enumerate(CHARACTERS)}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    words.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")


def prompts(count: int, length: int, seed: int = 0, vocabulary: int = len(CHARACTERS) + 2) -> list[list[int]]:
    """Return random prompts of ``length`` ids, special ids left out."""
    ids = np.random.default_rng(seed).integers(2, vocabulary, size=(count, length))
    return [[int(i) for i in row] for row in ids]
