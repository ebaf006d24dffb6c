"""Log-probabilities of completions, with the vocabulary-sized part done in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from winnow.objective.head import split
from winnow.objective.prefix import padded, shared_hidden, shares_prompts

CHUNK_LOGITS = 1 << 23  # logits of one chunk when the caller leaves it to us: 32 MiB in float32
RECOMPUTE_LOGITS = 1 << 24  # above this many logits a chunk's are recomputed in the backward pass


def completion_logprobs(
    model: Any,
    prompt_ids: Sequence[Sequence[int]],
    completion_ids: Sequence[Sequence[int]],
    *,
    temperature: float = 1.0,
    chunk: int | None = None,
    share_prompts: bool = True,
) -> Tensor:
    """Return log-probabilities (R, T) of the completions, right-padded with 0 to the longest one.

    Rows behind the same prompt share its computation, forward and backward. The head is applied to completion
    positions only, ``chunk`` of them at a time, so that memory never holds the logits of the whole batch.

    Args:
        model: causal language model; the caller decides about training mode and gradients.
        prompt_ids: token ids of each prompt, at least one.
        completion_ids: token ids of each completion.
        temperature: divides the logits; must be that of the sampler.
        chunk: positions per application of the head; None picks it by the size of the vocabulary.
        share_prompts: False computes every row whole; the result is the same up to rounding.

    Raises:
        ValueError: for an empty prompt or a temperature that is not positive.
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}; log-probabilities to train on need one > 0")
    if not all(len(prompt) for prompt in prompt_ids):
        raise ValueError("a prompt has no tokens; the first completion token needs something to stand behind")
    prompts = [tuple(map(int, prompt)) for prompt in prompt_ids]
    completions = [list(map(int, completion)) for completion in completion_ids]
    device = next(model.parameters()).device
    width = max(map(len, completions))
    where = [(row, t) for row, completion in enumerate(completions) for t in range(len(completion))]
    if not where:
        return torch.zeros(len(prompts), width, device=device)
    row_N, t_N = torch.tensor(where, device=device).unbind(1)
    targets_N = torch.tensor([completions[row][t] for row, t in where], device=device)
    longest = max(len(p) + len(c) for p, c in zip(prompts, completions, strict=True))

    parts = split(model)
    if parts is not None and share_prompts and shares_prompts(model, prompts, longest):
        hidden_NH = shared_hidden(parts.decoder, prompts, completions)[row_N, t_N]
        flat_N = head_logprobs(parts.head, hidden_NH, targets_N, temperature, chunk)
    else:
        ids_RL = padded([[*p, *c] for p, c in zip(prompts, completions, strict=True)], device)
        position_N = t_N + torch.tensor([len(prompt) - 1 for prompt in prompts], device=device)[row_N]
        if parts is not None:
            hidden_RLH = parts.decoder(input_ids=ids_RL, use_cache=False).last_hidden_state
            flat_N = head_logprobs(parts.head, hidden_RLH[row_N, position_N], targets_N, temperature, chunk)
        else:
            logits_NV = model(input_ids=ids_RL, use_cache=False).logits[row_N, position_N]
            flat_N = _token_logprobs(logits_NV, targets_N, temperature)
    return flat_N.new_zeros(len(prompts), width).index_put((row_N, t_N), flat_N)


def head_logprobs(
    head: Any, hidden_NH: Tensor, targets_N: Tensor, temperature: float, chunk: int | None = None
) -> Tensor:
    """Return the log-probability (N,) of each target given its hidden state (N, H), ``chunk`` rows at a time."""
    vocabulary = head.weight.shape[0]
    chunk = chunk or max(1, CHUNK_LOGITS // vocabulary)
    recompute = torch.is_grad_enabled() and hidden_NH.shape[0] * vocabulary > RECOMPUTE_LOGITS

    def one(hidden: Tensor, targets: Tensor) -> Tensor:
        return _token_logprobs(head(hidden), targets, temperature)

    starts = range(0, hidden_NH.shape[0], chunk)
    parts = [(hidden_NH[start : start + chunk], targets_N[start : start + chunk]) for start in starts]
    if recompute:
        return torch.cat([checkpoint(one, *part, use_reentrant=False) for part in parts])
    return torch.cat([one(*part) for part in parts])


def _token_logprobs(logits_NV: Tensor, targets_N: Tensor, temperature: float) -> Tensor:
    if logits_NV.dtype in (torch.float16, torch.bfloat16):
        logits_NV = logits_NV.float()
    if temperature != 1.0:
        logits_NV = logits_NV / temperature
    return logits_NV.gather(-1, targets_N[:, None])[:, 0] - logits_NV.logsumexp(-1)
