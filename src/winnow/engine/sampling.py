"""From logits to a token: temperature, top-k, top-p, inverse CDF, and the log-probability it had."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from winnow.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """The distribution tokens are drawn from.

    Attributes:
        temperature: divides the logits; 0 takes the most likely token (the lowest id among equals).
        top_k: keep this many most likely tokens; 0 keeps all.
        top_p: then keep the smallest set of most likely tokens whose probability reaches this; 1 keeps all.

    Raises:
        ConfigError: for a value outside its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature is {self.temperature}; it must be finite and >= 0 (0: greedy)")
        if self.top_k < 0:
            raise ConfigError(f"top_k is {self.top_k}; it must be >= 0 (0 keeps every token)")
        if not 0.0 < self.top_p <= 1.0:
            raise ConfigError(f"top_p is {self.top_p}; it must be in (0, 1] (1 keeps every token)")

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is taken and no random number is used."""
        return self.temperature == 0.0

    @property
    def truncated(self) -> bool:
        """Whether top-k or top-p removes tokens, so that the trained policy is not the sampled one."""
        return self.top_k > 0 or self.top_p < 1.0


def log_distribution(logits_BV: Tensor, rule: SamplingRule) -> Tensor:
    """Return the log-probabilities (B, V), float32, that ``rule`` samples from; removed tokens get -inf.

    What is kept is renormalised. Among tokens tied at the edge of top-k or top-p the lower id is kept.
    For the greedy rule it is the distribution at temperature 1, since a point mass says nothing.
    """
    logits_BV = logits_BV.float()
    if not rule.greedy and rule.temperature != 1.0:
        logits_BV = logits_BV / rule.temperature
    if rule.truncated:
        ranked_BV, order_BV = logits_BV.sort(dim=-1, descending=True, stable=True)
        kept_BV = torch.ones_like(ranked_BV, dtype=torch.bool)
        if 0 < rule.top_k < ranked_BV.shape[-1]:
            kept_BV[:, rule.top_k :] = False
        if rule.top_p < 1.0:
            probs_BV = ranked_BV.masked_fill(~kept_BV, -torch.inf).softmax(-1)
            kept_BV &= probs_BV.cumsum(-1) - probs_BV < rule.top_p
        dropped_BV = torch.zeros_like(kept_BV).scatter(-1, order_BV, ~kept_BV)
        logits_BV = logits_BV.masked_fill(dropped_BV, -torch.inf)
    return logits_BV.log_softmax(-1)


def draw(logits_BV: Tensor, uniforms_B: Tensor, rule: SamplingRule) -> tuple[Tensor, Tensor]:
    """Pick one token per row.

    Args:
        logits_BV: raw logits (B, V).
        uniforms_B: numbers in [0, 1) (B,), unused by the greedy rule.
        rule: the distribution to draw from.

    Returns:
        Token ids int64 (B,) and their log-probabilities float32 (B,) under ``log_distribution``.
    """
    logp_BV = log_distribution(logits_BV, rule)
    if rule.greedy:
        ids_B1 = logp_BV.argmax(-1, keepdim=True)
    else:
        cdf_BV = logp_BV.exp().cumsum(-1)
        total_B1 = cdf_BV[:, -1:]
        # Strictly below the total, so that the first entry above the target exists and has probability > 0.
        below_B1 = total_B1.nextafter(torch.zeros_like(total_B1))
        target_B1 = torch.minimum(uniforms_B[:, None] * total_B1, below_B1)
        ids_B1 = torch.searchsorted(cdf_BV, target_B1, right=True).clamp_(max=cdf_BV.shape[-1] - 1)
    return ids_B1[:, 0], logp_BV.gather(-1, ids_B1)[:, 0]
