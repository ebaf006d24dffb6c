"""Low-rank adapters: the settings, and attaching them through peft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow import errors


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """What to adapt, and how much.

    Attributes:
        rank: rank of the update of each adapted matrix, at least 1.
        alpha: the update is scaled by ``alpha / rank``; None takes ``2 * rank``.
        targets: names of the modules to adapt (``q_proj``, ...), or ``"all-linear"``.

    Raises:
        ConfigError: if ``rank`` or ``alpha`` is not positive, or ``targets`` is empty.
    """

    rank: int
    alpha: float | None = None
    targets: str | tuple[str, ...] = "all-linear"

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise errors.ConfigError(
                f"the LoRA rank is {self.rank}; it must be at least 1 (leave it out to train all weights)"
            )
        if self.alpha is not None and self.alpha <= 0:
            raise errors.ConfigError(f"the LoRA alpha is {self.alpha}; it must be positive")
        if not self.targets:
            raise errors.ConfigError("the LoRA targets are empty; name modules, or use 'all-linear'")


def attach(model: Any, settings: LoraSettings) -> Any:
    """Freeze ``model`` and give it trainable adapters; they are float32 whatever the model's dtype.

    Args:
        model: a transformers causal language model.
        settings: rank, scale and modules.

    Returns:
        The peft model around ``model``, without dropout: log-probabilities must not depend on chance.

    Raises:
        ConfigError: if a target names no module of the model; the message lists those it has.
        MissingExtra: if peft is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise errors.MissingExtra("LoRA needs peft: pip install 'winnow-rl[train]'") from error
    _check_targets(model, settings.targets)
    targets = settings.targets if isinstance(settings.targets, str) else list(settings.targets)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=2 * settings.rank if settings.alpha is None else settings.alpha,
        target_modules=targets,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config, autocast_adapter_dtype=True)


def _check_targets(model: Any, targets: str | tuple[str, ...]) -> None:
    import torch

    if isinstance(targets, str):
        if targets != "all-linear":
            raise errors.ConfigError(f"the LoRA targets are {targets!r}; give a list of module names, or 'all-linear'")
        return
    linear = {name.rpartition(".")[2] for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    for target in targets:
        if target not in linear:
            raise errors.unknown("LoRA target", target, linear)
