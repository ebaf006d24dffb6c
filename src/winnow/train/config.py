"""Every setting of a training run, with its default, its limits and what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from winnow.errors import ConfigError, did_you_mean
from winnow.train.explain import explain

DEFAULT_STEPS = 150
"""Optimiser steps of a run for which no limit is set."""


class TrainConfig(BaseModel):
    """Settings of one run; wrong values raise `ConfigError` before anything is loaded.

    Sizes are counted in prompts (``prompts_per_step``), rollouts generated per prompt (``n``) and rollouts
    trained on (``m``); nothing has to divide anything.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, protected_namespaces=()
    )

    task: str = "mix"
    """``mix``, ``code``, ``reasoning-gym:FAMILY``, or the path of a data file or folder (docs/data.md)."""
    task_seed: int = Field(0, ge=0)
    """Decides which problems the task has and which are held out; apart from ``seed``, so runs with different seeds
    are measured on the same problems."""
    task_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the task, such as ``spread`` or ``answer_column``."""
    model: str | None = None
    """Folder of a Hugging Face causal language model; unset: the policy the task ships with."""
    device: str = "auto"
    """``auto``, ``cpu``, ``cuda`` or ``cuda:N``."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of the weights; ``auto`` chooses by device and never takes bfloat16 on a CPU."""
    chat: bool = False
    """Send prompts that are plain text through the chat template, as one user message."""
    chat_template: str | None = None
    """Chat template (Jinja) used in place of the tokenizer's own."""
    system: str | None = None
    """System message for chat prompts that bring none."""
    lora_rank: int | None = Field(None, ge=1)
    """Rank of LoRA adapters; unset: every weight is trained."""
    lora_alpha: float | None = Field(None, gt=0)
    """Scale of the adapters; unset: twice the rank."""
    lora_targets: tuple[str, ...] | None = None
    """Names of the modules that get adapters; unset: every linear layer but the head."""

    recipe: str = "vigor+pods"
    """Name of the recipe: which rollouts are drawn, which train, and what they are worth."""
    n: int | None = None
    """Mean rollouts generated per prompt; unset: the recipe's own."""
    m: int | float | None = None
    """Rollouts trained on per prompt, a whole number, or a fraction of the group written with a point (1.0: all of
    it); unset: the recipe's own."""
    recipe_options: dict[str, Any] = Field(default_factory=dict)
    """Overrides of single parts of the recipe."""
    prompts_per_step: int = Field(16, ge=1)
    """Prompts of one step."""
    budget_unit: Literal["rollouts", "tokens"] = "rollouts"
    """What a step may spend is counted in rollouts or in generated tokens."""
    rollouts_per_step: int | None = Field(None, ge=2)
    """Rollouts a step may spend; unset: ``prompts_per_step`` times n."""
    tokens_per_step: int | None = Field(None, ge=1)
    """Generated tokens a step may spend, for ``budget_unit = "tokens"``."""

    steps: int | None = Field(None, ge=1)
    """End after so many steps. With none of the four limits set: 150 steps."""
    rollouts: int | None = Field(None, ge=1)
    """End when so many rollouts are generated; the last step never exceeds it."""
    tokens: int | None = Field(None, ge=1)
    """End when so many tokens are generated; the last step never exceeds it."""
    seconds: float | None = Field(None, gt=0)
    """End after the step in which so many seconds of training (evaluation aside) have passed."""

    lr: float = Field(2e-4, ge=0)
    """Learning rate of AdamW; about 2e-4 suits models of a million weights, 1e-6 to 1e-5 large ones."""
    lr_schedule: Literal["constant", "cosine"] = "constant"
    """Whether the rate falls to 0 over the run, after the warm-up."""
    warmup_steps: int = Field(0, ge=0)
    """Optimiser steps over which the rate rises from 0; steps without an update do not count."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Decay rates of AdamW's two moments."""
    max_grad_norm: float = Field(1.0, gt=0)
    """Gradients with a larger norm are scaled down to it."""
    epochs: int = Field(1, ge=1)
    """Passes over the rows of a step."""
    minibatches: int = Field(1, ge=1)
    """Optimiser steps into which one pass is divided."""
    micro_batch: int | None = Field(None, ge=1)
    """Rows per forward pass; changes memory, never the gradient. Unset: chosen by the learner."""

    reward_workers: int | None = Field(None, ge=0)
    """Processes that score completions and are killed when one takes too long; 0: score in this process, without a
    time limit. Unset: 2 for functions of yours and for math, 0 for rewards that cannot hang."""
    reward_timeout: float = Field(5.0, gt=0)
    """Seconds a worker may spend on one completion."""
    reward_on_timeout: Literal["unscorable", "zero", "raise"] | None = None
    """What a completion is worth whose scoring was killed; unset: what the reward says of itself (math: zero, since its
    golds were checked; functions: unscorable)."""
    reward_memory_mb: int = Field(2048, ge=64)
    """Memory a worker may have."""

    temperature: float = Field(1.0, gt=0)
    """Sampling temperature in training."""
    top_p: float = 1.0
    """Has to stay 1: importance ratios need the full distribution."""
    top_k: int = 0
    """Has to stay 0: importance ratios need the full distribution."""
    max_new_tokens: int = Field(64, ge=1)
    """Longest completion."""
    max_prompt_tokens: int = Field(1024, ge=1)
    """Longer prompts are dropped before training, with their number and ids."""
    slots: int = Field(256, ge=1)
    """Rollouts decoded at once."""

    eval_every: int = Field(25, ge=0)
    """Steps between evaluations; 0: only before and after training."""
    eval_prompts: int = Field(256, ge=0)
    """Held-out prompts used, the first ones of the test split; 0: no evaluation at all."""
    eval_samples: int = Field(4, ge=1)
    """Completions per held-out prompt."""
    eval_temperature: float = Field(1.0, ge=0)
    """Sampling temperature of evaluation; 0: the likeliest token, one completion per prompt."""
    eval_top_p: float = Field(1.0, gt=0, le=1)
    """Nucleus of evaluation."""
    eval_max_new_tokens: int | None = Field(None, ge=1)
    """Longest completion of evaluation; unset: as in training."""
    eval_seed: int = Field(0, ge=0)
    """Noise of evaluation: the same at every evaluation and apart from ``seed``, so curves compare."""
    pass_at_k: tuple[int, ...] | None = None
    """Values of k for the unbiased pass@k, at most ``eval_samples``; unset: ``eval_samples`` itself."""

    checkpoint_every: int = Field(50, ge=0)
    """Steps between checkpoints; 0: only at the end and when interrupted."""
    keep_checkpoints: int = Field(2, ge=1)
    """Checkpoints kept; older ones are deleted."""
    max_no_signal_steps: int = Field(20, ge=1)
    """Steps in a row without a trainable row after which the run stops (exit code 3)."""
    max_nonfinite_steps: int = Field(3, ge=1)
    """Updates in a row with a loss or gradient that is not finite after which the run stops."""
    max_unscorable_rate: float = Field(0.5, ge=0, le=1)
    """A larger share of unscorable rollouts in one step stops the run."""

    seed: int = Field(0, ge=0)
    """Reaches the order of prompts, the sampler, the allocation and every tie-break."""
    out: str | None = None
    """Run folder; unset: the first free name under ``runs/``."""
    log_rollouts: Literal["all", "trained", "none"] = "all"
    """Which rollouts are written to rollouts.jsonl."""
    rollouts_file_mb: float = Field(64.0, gt=0)
    """rollouts.jsonl is rotated at this size."""
    rollouts_files: int = Field(8, ge=1)
    """Rotated files kept."""
    trackers: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()
    """Services that get a copy of the metrics."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(explain(error, values, unknown_key)) from None

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by name; `DEFAULT_STEPS` when none is."""
        limits = {name: getattr(self, name) for name in ("steps", "rollouts", "tokens", "seconds")}
        return {name: value for name, value in limits.items() if value is not None} or {"steps": DEFAULT_STEPS}

    @field_validator("m", mode="before")
    @classmethod
    def _count_or_fraction(cls, m: Any) -> Any:
        """Read text with a point as a fraction; left to itself the validator takes "1.0" for one rollout."""
        return float(m) if isinstance(m, str) and re.fullmatch(r"\d*\.\d*", m) and m != "." else m

    @field_validator("out")
    @classmethod
    def _named(cls, out: str | None) -> str | None:
        if out is not None and not out.strip():
            raise ValueError(f"out={out!r}: the run needs a folder of its own; name one, or leave out unset")
        return out

    @model_validator(mode="after")
    def _combinations(self) -> Self:
        if self.n is not None and self.n < 2:
            raise ValueError(
                f"n={self.n}: a prompt needs at least two rollouts, or there is no group to compare with; "
                "set n to 2 or more"
            )
        if self.m is not None:
            _check_m(self.m)
        if self.top_p != 1.0 or self.top_k != 0:
            raise ValueError(
                f"top_p={self.top_p:g}, top_k={self.top_k}: importance ratios need log-probabilities of the full "
                "distribution, so training samples with top_p=1 and top_k=0; use eval_top_p for evaluation"
            )
        if self.budget_unit == "tokens" and self.tokens_per_step is None:
            raise ValueError('budget_unit = "tokens" needs tokens_per_step')
        if self.budget_unit == "tokens" and self.rollouts_per_step is not None:
            raise ValueError('rollouts_per_step is set but budget_unit = "tokens"; set only one of the two')
        if self.budget_unit == "rollouts" and self.tokens_per_step is not None:
            raise ValueError('tokens_per_step is set; it needs budget_unit = "tokens"')
        if self.tokens_per_step is not None and self.tokens_per_step < 2 * self.max_new_tokens:
            raise ValueError(
                f"tokens_per_step={self.tokens_per_step} cannot hold two completions of "
                f"max_new_tokens={self.max_new_tokens}"
            )
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas={self.betas}: both have to be at least 0 and below 1")
        if self.lora_rank is None and (self.lora_alpha is not None or self.lora_targets is not None):
            raise ValueError("lora_alpha and lora_targets need lora_rank")
        samples = self.eval_samples if self.eval_temperature > 0 else 1
        if any(not 1 <= k <= samples for k in self.pass_at_k or ()):
            raise ValueError(
                f"pass_at_k={list(self.pass_at_k or ())}: with eval_temperature={self.eval_temperature:g} and "
                f"eval_samples={self.eval_samples}, k goes from 1 to {samples}"
            )
        return self


def _check_m(m: int | float) -> None:
    if isinstance(m, float) and not 0 < m <= 1:
        hint = f"; write the number of rollouts without a point: m={m:.0f}" if m > 1 and m.is_integer() else ""
        raise ValueError(f"m={m}: a fraction of the group has to be above 0 and at most 1.0{hint}")
    if isinstance(m, int) and m < 2:
        raise ValueError(f"m={m}: one trained rollout has no group to compare with; set m to 2 or more")


def unknown_key(name: str, where: str = "") -> str:
    """Return the message for a setting that does not exist, with the nearest one that does."""
    found = f" in {where}" if where else ""
    return f"unknown setting {name!r}{found}{did_you_mean(name, TrainConfig.model_fields)}"


def recipe_overrides(config: TrainConfig) -> Mapping[str, Any]:
    """Return the overrides for `winnow.recipe`: ``recipe_options`` with ``n`` and ``m`` laid over them."""
    sizes = {name: value for name, value in (("n", config.n), ("m", config.m)) if value is not None}
    return {**config.recipe_options, **sizes}
