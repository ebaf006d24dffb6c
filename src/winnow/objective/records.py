"""What goes into an update and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One rollout to train on.

    Attributes:
        prompt_ids: token ids of the prompt, at least one.
        ids: sampled ids int64 (T,), end-of-sequence id included; all of them are trained.
        logprobs: their log-probabilities when sampled, float32 (T,).
        advantage: of the rollout, copied to its tokens; or one for each of them, float (T,).
        weight: multiplies the row's loss.
    """

    prompt_ids: Sequence[int]
    ids: npt.NDArray[np.int64]
    logprobs: npt.NDArray[np.float32]
    advantage: float | npt.NDArray[np.float64]
    weight: float = 1.0

    @property
    def teaches(self) -> bool:
        """Whether an advantage and the weight differ from 0."""
        return bool(np.any(self.advantage)) and self.weight != 0.0

    @property
    def length(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt_ids) + len(self.ids)


@dataclass(frozen=True, slots=True)
class Outlier:
    """A token whose log-ratio to the reference was clamped: alone it could own the whole loss.

    Attributes:
        row: position of its row in the batch given to the learner.
        token: position in the completion.
        log_ratio: reference minus current log-probability, before clamping.
    """

    row: int
    token: int
    log_ratio: float


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one call of ``Learner.update`` did. Means are over the tokens trained, over all epochs.

    Attributes:
        loss: of the first epoch, as one number for the whole batch.
        grad_norm: before clipping, mean over optimiser steps.
        lr: of the last optimiser step.
        clip_fraction: share of tokens whose gradient the clip removed.
        ratio_mean: mean of the importance ratio; 1 at the first step of a batch sampled by the same weights.
        ratio_max: largest importance ratio.
        kl: mean k3 divergence to the reference; None without reference.
        kl_clamped: tokens whose log-ratio to the reference was clamped.
        kl_outliers: the first of these tokens, at most `winnow.objective.tally.OUTLIERS`.
        drift: mean k3 divergence between the sampling and the current policy.
        rows: rows that went through the model, per epoch.
        tokens: their completion tokens, per epoch.
        skipped: no row could train; weights, moments and schedule are untouched.
        nonfinite: a loss or gradient was not finite, and its optimiser step was not taken.
        optimizer_steps: steps taken.
        seconds: wall time.
    """

    loss: float
    grad_norm: float
    lr: float
    clip_fraction: float
    ratio_mean: float
    ratio_max: float
    kl: float | None
    kl_clamped: int
    kl_outliers: tuple[Outlier, ...]
    drift: float
    rows: int
    tokens: int
    skipped: bool
    nonfinite: bool
    optimizer_steps: int
    seconds: float

    @classmethod
    def nothing(cls, lr: float, seconds: float) -> UpdateStats:
        """Return the statistics of an update in which no row could train."""
        return cls(
            loss=0.0,
            grad_norm=0.0,
            lr=lr,
            clip_fraction=0.0,
            ratio_mean=1.0,
            ratio_max=1.0,
            kl=None,
            kl_clamped=0,
            kl_outliers=(),
            drift=0.0,
            rows=0,
            tokens=0,
            skipped=True,
            nonfinite=False,
            optimizer_steps=0,
            seconds=seconds,
        )
