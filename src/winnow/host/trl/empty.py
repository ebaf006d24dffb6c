"""Optimiser steps with nothing to learn leave the weights alone, and do not go on for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from winnow.errors import SafetyStop

if TYPE_CHECKING:
    from winnow.host.trl.trainer import WinnowGRPOTrainer


class SkipEmpty(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Makes an optimiser step without a trainable row a step that changes nothing.

    Momentum and weight decay move weights even where the gradient is zero (LOSS-04), so the gradients are taken away:
    an optimiser of torch passes over parameters without one. The learning-rate schedule moves on. With a divergence
    term, an entropy bonus or an auxiliary loss a row without advantage has a gradient, and nothing is skipped.
    DeepSpeed steps before this callback is asked, so there it only counts.

    Args:
        trainer: whose advantages are watched.
        limit: empty steps in a row after which the run stops.
    """

    def __init__(self, trainer: WinnowGRPOTrainer, limit: int) -> None:
        self._trainer = trainer
        self._limit = limit
        self._signal: torch.Tensor | None = None
        self.in_a_row = self.skipped = 0

    def saw(self, advantages: torch.Tensor) -> None:
        """Take note of the advantages of a micro-batch."""
        count = (advantages.detach() != 0).sum()
        self._signal = count if self._signal is None else self._signal + count

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Take the gradients away if no rank has an advantage in this optimiser step.

        Raises:
            SafetyStop: ``limit`` steps in a row had nothing to learn.
        """
        if self._signal is None:
            return
        seen = int(self._trainer.accelerator.reduce(self._signal, reduction="sum").item())
        self._signal = None
        if seen or self._trainer.learns_without_signal:
            self.in_a_row = 0
            return
        self.in_a_row, self.skipped = self.in_a_row + 1, self.skipped + 1
        for group in kwargs["optimizer"].param_groups:
            for parameter in group["params"]:
                parameter.grad = None
        if self.in_a_row >= self._limit:
            raise SafetyStop(
                f"{self.in_a_row} optimiser steps in a row had no trainable row (limit max_no_signal_steps="
                f"{self._limit}): within every prompt all rollouts got the same reward, and the weights did not "
                "change. Look at winnow/signal/all_pass and all_fail: use easier or harder prompts, a larger n, or a "
                "higher temperature; with reward functions that give None, look at winnow/unscorable"
            )
