"""Float32 masters of weights that are stored in less precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn


class Masters:
    """Gives the optimiser float32 copies of low-precision parameters, and copies its results back.

    bfloat16 has 8 significant bits: a step below about 1/256 of a weight is rounded away, which at the learning rates
    of reinforcement learning (1e-6) is most of them. In a float32 master such steps add up. Parameters in float32 or
    more are their own masters, and nothing is copied.

    Args:
        parameters: those that are trained.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        self.masters = [_master(parameter) for parameter in self.parameters]
        self._pairs = [(low, high) for low, high in zip(self.parameters, self.masters, strict=True) if low is not high]

    def take_gradients(self) -> None:
        """Hand the gradients to the masters, and free them where they are."""
        for low, high in self._pairs:
            high.grad, low.grad = (None if low.grad is None else low.grad.float()), None

    @torch.no_grad()
    def write_back(self) -> None:
        """Round the masters into the parameters."""
        for low, high in self._pairs:
            low.copy_(high)

    def drop_gradients(self) -> None:
        """Free all gradients."""
        for parameter in (*self.parameters, *self.masters):
            parameter.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """Return the masters that are not parameters themselves, by position."""
        pairs = zip(self.parameters, self.masters, strict=True)
        return {str(index): high.detach() for index, (low, high) in enumerate(pairs) if low is not high}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore `state_dict`; masters that it lacks start from the parameters as they are."""
        for index, (low, high) in enumerate(zip(self.parameters, self.masters, strict=True)):
            if low is not high:
                high.copy_(state.get(str(index), low))


def _master(parameter: nn.Parameter) -> nn.Parameter:
    if parameter.dtype not in (torch.bfloat16, torch.float16):
        return parameter
    return nn.Parameter(parameter.detach().float())
