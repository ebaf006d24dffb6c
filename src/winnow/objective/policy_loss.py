"""The clipped surrogate and the k3 divergence, as sums that add up over micro-batches."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from winnow.objective.config import Objective


@dataclass(frozen=True, slots=True)
class LossTerms:
    """The loss of some rows, and sums over their tokens (detached, on the device of the loss).

    Attributes:
        loss: scalar with gradient; the losses of the parts of a batch add up to the loss of the batch.
        clipped: tokens whose gradient the clip removed.
        ratio: sum of importance ratios.
        ratio_max: largest importance ratio, 0 without tokens.
        drift: sum of the k3 divergence between sampling and current policy.
        kl: sum of the k3 divergence to the reference, 0 without reference.
        kl_clamped: tokens whose log-ratio to the reference was clamped.
        clamped_RT: their log-ratios before clamping, 0 elsewhere; None without reference.
    """

    loss: Tensor
    clipped: Tensor
    ratio: Tensor
    ratio_max: Tensor
    drift: Tensor
    kl: Tensor
    kl_clamped: Tensor
    clamped_RT: Tensor | None = None


def length_mask(lengths_R: Tensor, width: int) -> Tensor:
    """Return the bool mask (R, width) of real tokens. Masks come from lengths, never from a padding id."""
    return torch.arange(width, device=lengths_R.device) < lengths_R[:, None]


def k3(log_ratio: Tensor) -> Tensor:
    """Return ``exp(x) - x - 1`` >= 0: with x = log(q/p) at samples of p, an unbiased estimate of KL(p||q)."""
    return torch.expm1(log_ratio) - log_ratio


def surrogate(ratio: Tensor, advantage: Tensor, objective: Objective) -> tuple[Tensor, Tensor]:
    """Return the clipped objective per token (to be maximised) and where the clip removed its gradient.

    Args:
        ratio: importance ratios, any shape.
        advantage: advantages that broadcast against it.
        objective: the clip bounds.
    """
    free = ratio * advantage
    bounded = ratio.clamp(1.0 - objective.clip_low, 1.0 + objective.clip_high) * advantage
    clipped = bounded < free
    value = torch.minimum(free, bounded)
    if objective.clip_dual is not None:
        floor = objective.clip_dual * advantage
        dual = (advantage < 0) & (value < floor)
        value, clipped = torch.where(dual, floor.expand_as(value), value), clipped | dual
    return value, clipped


def geometric(
    log_ratio_RT: Tensor, advantages_R: Tensor, lengths_R: Tensor, objective: Objective
) -> tuple[Tensor, Tensor]:
    """Return GMPO's objective of each row, on every one of its tokens, and where the clip removed a token's gradient.

    The value of a row is ``A exp(mean c)``; standing on all T tokens of the row, their mean is that value again, so the
    aggregation over tokens is the one of every other objective.

    Args:
        log_ratio_RT: log importance ratios, 0 in the padding.
        advantages_R: one per row.
        lengths_R: real tokens per row.
        objective: the clip bounds, in log space.

    Raises:
        ValueError: for advantages per token.
    """
    if advantages_R.ndim != 1:
        raise ValueError("the geometric ratio has one term per row; it cannot take advantages per token")
    positive_R1 = advantages_R[:, None] > 0
    kept_RT = torch.where(
        positive_R1, log_ratio_RT.clamp(max=objective.clip_high), log_ratio_RT.clamp(min=-objective.clip_low)
    )
    clipped_RT = kept_RT != log_ratio_RT
    value_R = advantages_R * (kept_RT.sum(-1) / lengths_R.clamp(min=1)).exp()
    return value_R[:, None].expand_as(log_ratio_RT), clipped_RT


def policy_loss(
    logprobs_RT: Tensor,
    sampled_RT: Tensor,
    advantages: Tensor,
    weights_R: Tensor,
    lengths_R: Tensor,
    objective: Objective,
    divisor: float,
    reference_RT: Tensor | None = None,
) -> LossTerms:
    """Return the loss of R rows, right-padded to T tokens; what stands in the padding never matters.

    Args:
        logprobs_RT: log-probabilities under the current policy, with gradient.
        sampled_RT: log-probabilities when the tokens were sampled.
        advantages: (R,) one per row, copied to its tokens, or (R, T).
        weights_R: multiply the rows' losses.
        lengths_R: real tokens per row, int64; a row of length 0 adds nothing.
        objective: clip bounds, aggregation, divergence.
        divisor: ``objective.divisor(totals)`` of the whole optimiser step, not of these rows.
        reference_RT: log-probabilities under the reference; needed when ``objective.kl_beta`` > 0.

    Raises:
        ValueError: for a divisor that is not positive, a divergence without reference, or advantages per token with
            the geometric ratio, which has one term per row.
    """
    if not divisor > 0:
        raise ValueError(f"divisor is {divisor}; it must be > 0 (a batch without rows or tokens has no loss)")
    if objective.kl_beta > 0 and reference_RT is None:
        raise ValueError("kl_beta > 0 needs the log-probabilities of a reference")
    mask_RT = length_mask(lengths_R, logprobs_RT.shape[1])
    # Padding is replaced before the exponential: inf x 0 would be NaN.
    log_ratio_RT = torch.where(mask_RT, logprobs_RT - sampled_RT, 0.0)
    ratio_RT = log_ratio_RT.exp()
    if objective.ratio == "geometric":
        value_RT, clipped_RT = geometric(log_ratio_RT, advantages, lengths_R, objective)
    else:
        value_RT, clipped_RT = surrogate(ratio_RT, advantages.reshape(len(lengths_R), -1), objective)
    term_RT = -value_RT
    kl = kl_clamped = logprobs_RT.new_zeros(())
    clamped_RT = None
    if reference_RT is not None:
        gap_RT = torch.where(mask_RT, reference_RT - logprobs_RT, 0.0)
        kl_RT = k3(gap_RT.clamp(-objective.kl_clamp, objective.kl_clamp))
        term_RT = term_RT + objective.kl_beta * kl_RT
        kl = kl_RT.detach().sum()
        outside_RT = gap_RT.detach().abs() > objective.kl_clamp
        kl_clamped, clamped_RT = outside_RT.sum(), torch.where(outside_RT, gap_RT.detach(), 0.0)
    loss_R = (term_RT * mask_RT).sum(-1)
    if objective.aggregation == "sequence":
        loss_R = loss_R / lengths_R.clamp(min=1)
    loss = (loss_R * weights_R).sum() / divisor
    with torch.no_grad():
        return LossTerms(
            loss=loss,
            clipped=(clipped_RT & mask_RT).sum(),
            ratio=(ratio_RT * mask_RT).sum(),
            ratio_max=(ratio_RT * mask_RT).max() if mask_RT.numel() else logprobs_RT.new_zeros(()),
            drift=(k3(-log_ratio_RT) * mask_RT).sum(),
            kl=kl,
            kl_clamped=kl_clamped,
            clamped_RT=clamped_RT,
        )
