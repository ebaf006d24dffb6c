"""The advantage estimator ``winnow``: the recipe's advantages, by name of the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from winnow.errors import BudgetError
from winnow.host.verl import driver

PADDING = "pad"
"""What the uid of the rows begins with that verl adds to fill its mini-batches (`verl.trainer.ppo.padding_utils`)."""


def estimate(
    token_level_rewards: torch.Tensor, response_mask: torch.Tensor, index: Sequence[str], **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return advantages and returns, which are the same.

    A row is worth what the recipe says, whatever rows stand beside it: groups of one, groups of any size, several
    outputs of a session and rows in any order come out right. verl's own estimator gives a group of one its raw reward.

    Args:
        token_level_rewards: float (R, T); only its type matters.
        response_mask: (R, T), 1 for generated tokens.
        index: (R,) names of the rows, as `WinnowReplayBuffer` left them.

    Returns:
        float (R, T), twice: advantage times weight on generated tokens, times what corrects the denominator of the
        loss (`driver.Worth.scale`); 0 elsewhere.

    Raises:
        BudgetError: a row is in the batch about which nothing was decided.
    """
    known = driver.worth()
    names = [str(name) for name in index]
    real = [not name.startswith(PADDING) for name in names]
    stray = next((name for name, counts in zip(names, real, strict=True) if counts and name not in known.rows), None)
    if stray is not None:
        raise BudgetError(
            f"row {stray!r} is in the batch, but the recipe did not keep it: who else writes to verl's queue?"
        )
    scale = known.scale(len(names), sum(real))
    values = [known.rows[name] * scale if counts else 0.0 for name, counts in zip(names, real, strict=True)]
    column = torch.tensor(values, dtype=token_level_rewards.dtype, device=token_level_rewards.device)
    advantages = column[:, None] * response_mask.to(column.dtype)
    return advantages, advantages


def register() -> None:
    """Make the estimator known to verl in this process; again is no harm."""
    from verl.trainer.ppo.core_algos import register_adv_est

    register_adv_est("winnow")(estimate)
