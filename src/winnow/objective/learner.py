"""The optimiser step: rows in, weights changed, or left exactly as they were."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from winnow.engine.modes import evaluating, without_dropout
from winnow.errors import ConfigError
from winnow.objective.config import Objective, Totals
from winnow.objective.flow import Partition, flow_loss
from winnow.objective.logprobs import completion_logprobs
from winnow.objective.masters import Masters
from winnow.objective.microbatch import advantages_of, micro_batches
from winnow.objective.policy_loss import policy_loss
from winnow.objective.records import Outlier, Row, UpdateStats
from winnow.objective.schedule import Schedule
from winnow.objective.tally import Tally


class Learner:
    """AdamW on the clipped policy loss, in float32 whatever the weights are stored in (see `Masters`).

    Rows whose advantage or weight is 0 give no gradient unless there is a divergence term: they stay out of the
    model and in the denominators. How rows are cut into micro-batches never changes the gradient.

    With ``minibatches`` > 1 each epoch's rows (those without gradient too) are shuffled and cut into that many
    optimiser steps, and each divides by its own share of the denominator: divisor x (its rows or tokens / those
    of all rows given). The shares add up to the divisor, so one minibatch is the plain full-batch step.

    Args:
        model: causal language model, changed in place; parameters with ``requires_grad`` are trained.
        lr: peak learning rate.
        weight_decay: AdamW's, on every trained parameter.
        betas: AdamW's.
        warmup_steps: optimiser steps of linear warm-up.
        max_grad_norm: the gradient is scaled down to this norm; infinity never clips.
        epochs: passes over the rows of one update.
        minibatches: optimiser steps per epoch.
        micro_batch: rows per forward pass; None limits padded tokens instead.
        objective: the loss.
        temperature: that of the sampler.
        reference: model the divergence is measured to; the trained model itself means its weights without
            peft adapters.
        schedule: shape of the learning rate after warm-up.
        total_steps: optimiser steps of the run, for ``cosine``.
        seed: of the shuffling into minibatches.

    Raises:
        ConfigError: for a setting out of range, a model without trainable parameters, or a divergence
            without reference.
    """

    def __init__(
        self,
        model: Any,
        *,
        lr: float,
        objective: Objective,
        temperature: float,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.99),
        warmup_steps: int = 0,
        max_grad_norm: float = 1.0,
        epochs: int = 1,
        minibatches: int = 1,
        micro_batch: int | None = None,
        reference: Any = None,
        schedule: Literal["constant", "cosine"] = "constant",
        total_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        for name, value in (("epochs", epochs), ("minibatches", minibatches), ("micro_batch", micro_batch)):
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1")
        if not temperature > 0:
            raise ConfigError(f"temperature is {temperature}; training needs the sampler's, which must be > 0")
        if not max_grad_norm > 0:
            raise ConfigError(f"max_grad_norm is {max_grad_norm}; it must be > 0 (infinity never clips)")
        if objective.needs_reference and reference is None:
            name = "kl_beta" if objective.kl_beta else "flow_beta"
            raise ConfigError(f"{name} is {getattr(objective, name)}, which needs a reference model, found none")
        self.model = model
        self.objective = objective
        self.schedule = Schedule(lr, warmup_steps, schedule, total_steps)
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not self._parameters:
            raise ConfigError("the model has no parameter with requires_grad; there is nothing to train")
        self._partition = Partition(model) if objective.flow_beta else None
        if self._partition is not None:
            self._parameters += self._partition.parameters()
        # The rate is set before every step; one > 0 here only keeps AdamW from refusing 0.
        self._masters = Masters(self._parameters)
        self.optimizer = torch.optim.AdamW(self._masters.masters, lr=lr, betas=betas, weight_decay=weight_decay)
        self._max_grad_norm = max_grad_norm
        self._epochs, self._minibatches, self._micro_batch = epochs, minibatches, micro_batch
        self._temperature = temperature
        self._reference = reference
        self._seed = seed
        self.updates = 0
        self.steps = 0

    def update(self, batch: Sequence[Row], totals: Totals) -> UpdateStats:
        """Train on the rows of one step.

        Args:
            batch: the kept rows, in any order.
            totals: what the loss is divided by, see ``Objective.denominator``.

        Returns:
            Statistics. ``skipped``: no row could train and nothing was touched, optimiser and schedule included.
            ``nonfinite``: a loss or gradient was not finite; that optimiser step was not taken.

        Raises:
            ConfigError: when rows can train but ``totals`` counts nothing.
        """
        started = time.perf_counter()
        trainable = [row for row in batch if self._trains(row)]
        if not trainable:
            return UpdateStats.nothing(self.schedule.at(self.steps), time.perf_counter() - started)
        divisor = self.objective.divisor(totals)
        if not divisor > 0:
            raise ConfigError(f"{len(trainable)} rows can train but {totals} counts nothing to divide by")
        tally, norms, loss, nonfinite, taken = Tally(), [], 0.0, False, 0
        with without_dropout(self.model):
            for epoch in range(self._epochs):
                for rows, share in self._shares(batch, epoch):
                    part, norm = self._gradient(rows, divisor * share, tally)
                    if norm is None:
                        continue
                    loss += part if epoch == 0 else 0.0
                    if math.isfinite(norm) and math.isfinite(part):
                        self._step()
                        norms.append(norm)
                        taken += 1
                    else:
                        nonfinite = True
                    self._masters.drop_gradients()
        self.updates += 1
        sums = tally.read()
        place = {id(row): index for index, row in enumerate(batch)}
        return UpdateStats(
            loss=loss,
            grad_norm=float(np.mean(norms)) if norms else math.nan,
            lr=self.schedule.at(max(0, self.steps - 1)),
            clip_fraction=sums["clip_fraction"],
            ratio_mean=sums["ratio_mean"],
            ratio_max=sums["ratio_max"],
            kl=sums["kl"] if self._reference is not None else None,
            kl_clamped=int(sums["kl_clamped"]),
            kl_outliers=tuple(Outlier(place[id(row)], token, gap) for row, token, gap in tally.outliers()),
            drift=sums["drift"],
            rows=len(trainable),
            tokens=sum(len(row.ids) for row in trainable),
            skipped=False,
            nonfinite=nonfinite,
            optimizer_steps=taken,
            seconds=time.perf_counter() - started,
        )

    def _trains(self, row: Row) -> bool:
        live = row.teaches or (self.objective.needs_reference and row.weight != 0.0)
        return live and len(row.ids) > 0

    def _shares(self, batch: Sequence[Row], epoch: int) -> Iterator[tuple[list[Row], float]]:
        """Yield the rows of each optimiser step and their share of the divisor; the shares add up to 1."""
        if self._minibatches == 1:
            yield list(batch), 1.0
            return
        order = np.random.default_rng([self._seed, self.updates, epoch]).permutation(len(batch))
        by_token = self.objective.aggregation == "token"
        sizes = np.array([len(row.ids) if by_token else 1 for row in batch], dtype=np.float64)
        for part in np.array_split(order, self._minibatches):
            share = float(sizes[part].sum() / sizes.sum())
            if share > 0:
                yield [batch[index] for index in part], share

    def _gradient(self, rows: Sequence[Row], divisor: float, tally: Tally) -> tuple[float, float | None]:
        """Accumulate the gradient of one optimiser step; return its loss and norm, or None without rows."""
        trainable = [row for row in rows if self._trains(row)]
        if not trainable:
            return 0.0, None
        losses = []
        for micro in micro_batches(trainable, self._micro_batch):
            terms = self._terms(micro, divisor)
            terms.loss.backward()
            losses.append(terms.loss.detach())
            tally.add(terms, micro)
        norm = nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
        return float(torch.stack(losses).sum()), float(norm)

    def _terms(self, rows: Sequence[Row], divisor: float) -> Any:
        prompts, completions = [row.prompt_ids for row in rows], [row.ids.tolist() for row in rows]
        new_RT = completion_logprobs(self.model, prompts, completions, temperature=self._temperature)
        reference_RT = self._reference_logprobs(prompts, completions)
        sampled_RT = torch.zeros_like(new_RT, requires_grad=False)
        for index, row in enumerate(rows):
            sampled_RT[index, : len(row.ids)] = torch.as_tensor(row.logprobs)
        weights_R = new_RT.new_tensor([row.weight for row in rows])
        lengths_R = torch.tensor([len(row.ids) for row in rows], device=new_RT.device)
        advantages, rest = advantages_of(rows, new_RT), (weights_R, lengths_R, self.objective, divisor)
        if self._partition is not None and reference_RT is not None:
            log_z_R = self._partition(self.model, prompts)
            return flow_loss(new_RT, sampled_RT, reference_RT, advantages, log_z_R, *rest)
        return policy_loss(new_RT, sampled_RT, advantages, *rest, reference_RT)

    def _reference_logprobs(self, prompts: Sequence[Any], completions: Sequence[Any]) -> Tensor | None:
        if self._reference is None:
            return None
        bare = self._reference.disable_adapter() if self._reference is self.model else nullcontext()
        with bare, evaluating(self._reference):
            return completion_logprobs(self._reference, prompts, completions, temperature=self._temperature)

    def _step(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.at(self.steps)
        self._masters.take_gradients()
        self.optimizer.step()
        self._masters.write_back()
        self.steps += 1

    def state_dict(self) -> dict[str, Any]:
        """Return optimiser moments, masters and counters; the weights are the model's own and not included."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "masters": self._masters.state_dict(),
            "partition": self._partition.state_dict() if self._partition is not None else {},
            "steps": self.steps,
            "updates": self.updates,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where ``state_dict`` was taken, given the same weights."""
        self.optimizer.load_state_dict(state["optimizer"])
        self._masters.load_state_dict(state.get("masters", {}))
        if self._partition is not None:
            self._partition.load_state_dict(state["partition"])
        self.steps, self.updates = int(state["steps"]), int(state["updates"])
