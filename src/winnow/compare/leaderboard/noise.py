"""How noisy the gradient of a step is, against what it is on average.

With K independent gradients g of the same weights, |sum g|^2 = sum |g|^2 + the products of different ones, whose mean
is |E g|^2 without bias; the rest of the mean |g|^2 is the trace of the covariance. Their quotient is the noise scale of
McCandlish et al. (arXiv 1812.06162, equation 2.8) in steps: so many steps have to be averaged until noise and signal
are equally large. Our choice of unit: a step, because recipes differ in what they do with the rollouts of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook


@dataclass
class Noise:
    """Running sums over gradients.

    Attributes:
        steps: gradients seen.
        total: their sum (D,), None before the first.
        squares: sum of their squared norms.
    """

    steps: int = 0
    total: torch.Tensor | None = None
    squares: float = 0.0

    def add(self, gradient: torch.Tensor) -> None:
        """Take one gradient (D,)."""
        self.steps += 1
        self.squares += float(gradient.square().sum())
        self.total = gradient.clone() if self.total is None else self.total + gradient

    def as_dict(self) -> dict[str, float | int | None]:
        """Return ``signal`` (|E g|^2), ``noise`` (trace of the covariance) and ``scale``, their quotient in steps.

        All without bias for any K >= 2, hence a signal that is small may come out negative: the scale is then None, as
        it is with fewer than two gradients.
        """
        if self.steps < 2 or self.total is None:
            return {"steps": self.steps, "signal": None, "noise": None, "scale": None}
        whole = float(self.total.square().sum())
        signal = (whole - self.squares) / (self.steps * (self.steps - 1))
        noise = self.squares / self.steps - signal
        return {
            "steps": self.steps,
            "signal": signal,
            "noise": noise,
            "scale": noise / signal if signal > 0 else None,
        }


@contextmanager
def watching() -> Iterator[Noise]:
    """While entered, the gradient of every optimiser step of this process is added to the `Noise` given."""
    noise = Noise()

    def look(optimiser: Any, *_: Any) -> None:
        parts = [p.grad.flatten() for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
        noise.add(torch.cat(parts).double())

    handle = register_optimizer_step_pre_hook(look)
    try:
        yield noise
    finally:
        handle.remove()
