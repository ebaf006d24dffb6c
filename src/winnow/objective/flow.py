"""FlowRL: match the distribution of rewards instead of maximising them, with a learned partition function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from winnow.engine.modes import evaluating
from winnow.objective.config import Objective
from winnow.objective.policy_loss import LossTerms, k3, length_mask
from winnow.objective.prefix import padded


class Partition(nn.Module):
    """log Z of a prompt: three layers on the mean of its last hidden states (FlowRL, arXiv 2509.15207).

    Args:
        model: the policy; its hidden states are inputs and get no gradient from here.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        size = model.config.get_text_config().hidden_size
        inner = (nn.Linear(size, size), nn.GELU(), nn.Linear(size, size), nn.GELU())
        self.layers = nn.Sequential(*inner, nn.Linear(size, 1)).to(next(model.parameters()).device)

    def forward(self, model: Any, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Return log Z (R,) of prompts of token ids."""
        device = next(self.parameters()).device
        mask_RL = length_mask(torch.tensor([len(prompt) for prompt in prompts], device=device), max(map(len, prompts)))
        ids_RL = padded([list(prompt) for prompt in prompts], device)
        with evaluating(model), torch.no_grad():
            hidden_RLH = model(input_ids=ids_RL, use_cache=False, output_hidden_states=True).hidden_states[-1]
        mean_RH = (hidden_RLH * mask_RL[..., None]).sum(1) / mask_RL.sum(1, keepdim=True)
        log_z_R: Tensor = self.layers(mean_RH.float())[:, 0]
        return log_z_R


def flow_loss(
    logprobs_RT: Tensor,
    sampled_RT: Tensor,
    reference_RT: Tensor,
    advantages_R: Tensor,
    log_z_R: Tensor,
    weights_R: Tensor,
    lengths_R: Tensor,
    objective: Objective,
    divisor: float,
) -> LossTerms:
    """Return the trajectory-balance loss of R rows: ``w (log Z + mean new - beta A - mean reference)^2``.

    Means are over a row's tokens; ``beta`` is ``objective.flow_beta``; w is the detached importance weight of the row,
    ``exp(mean (new - sampled))``, within the clip bounds around 1 (the paper's; its code leaves w free).

    Args:
        logprobs_RT: log-probabilities under the current policy, with gradient.
        sampled_RT: when the tokens were sampled.
        reference_RT: under the reference.
        advantages_R: the normalised reward of each row.
        log_z_R: log partition function of each row's prompt, with gradient.
        weights_R: multiply the rows' losses.
        lengths_R: real tokens per row, int64.
        objective: ``flow_beta`` and the clip bounds.
        divisor: of the whole optimiser step.
    """
    mask_RT = length_mask(lengths_R, logprobs_RT.shape[1])
    tokens_R = lengths_R.clamp(min=1)
    log_ratio_RT = torch.where(mask_RT, logprobs_RT - sampled_RT, 0.0)
    gap_RT = torch.where(mask_RT, logprobs_RT - reference_RT, 0.0)
    balance_R = log_z_R + gap_RT.sum(-1) / tokens_R - objective.flow_beta * advantages_R
    free_R = (log_ratio_RT.sum(-1) / tokens_R).exp().detach()
    bounded_R = free_R.clamp(1.0 - objective.clip_low, 1.0 + objective.clip_high)
    loss = (bounded_R * balance_R.square() * weights_R).sum() / divisor
    with torch.no_grad():
        ratio_RT = log_ratio_RT.exp() * mask_RT
        return LossTerms(
            loss=loss,
            clipped=((bounded_R != free_R)[:, None] & mask_RT).sum(),
            ratio=ratio_RT.sum(),
            ratio_max=ratio_RT.max() if ratio_RT.numel() else loss.new_zeros(()),
            drift=(k3(-log_ratio_RT) * mask_RT).sum(),
            kl=(k3(-gap_RT) * mask_RT).sum(),
            kl_clamped=loss.new_zeros(()),
        )
