"""Run a model without dropout, with or without gradients, and leave it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch every submodule to evaluation mode and gradients off; restore each submodule's own mode after.

    ``no_grad`` and not ``inference_mode``: some models refresh their rotary buffers in ``forward``, and an
    inference tensor left behind would break the next backward pass.
    """
    training = [module for module in model.modules() if module.training]
    try:
        for module in training:
            module.training = False
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def without_dropout(model: Any) -> Iterator[None]:
    """Switch dropout off while gradients are on, so that a ratio compares weights and not dropout masks.

    A model with gradient checkpointing recomputes in training mode only; there just the ``Dropout`` modules
    are switched off.
    """
    checkpointing = bool(getattr(model, "is_gradient_checkpointing", False))
    off = [m for m in model.modules() if m.training and (not checkpointing or isinstance(m, nn.Dropout))]
    try:
        for module in off:
            module.training = False
        yield
    finally:
        for module in off:
            module.training = True
