"""Sampling: rollouts of a causal language model, one key-value cache shared per prompt."""

from __future__ import annotations

from winnow.errors import MissingExtra

try:
    import torch  # noqa: F401
    import transformers  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        f"sampling needs {error.name}, which is not installed: pip install 'winnow-rl[train]'"
    ) from error

from winnow.engine.sampler import Sampler
from winnow.engine.session import Session

__all__ = ["Sampler", "Session"]
