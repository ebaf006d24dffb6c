"""`GRPOTrainer` with a recipe of winnow: which rollouts are drawn, which of them train, and what each is worth.

TRL keeps what it does well: data order, sampling engines, reward functions, log-probabilities, losses, logs. The seam
is one method, `_generate_and_score_completions`, in two passes. First the recipe's step is run: waves of rollouts
through TRL's own `_generate` and `_calculate_rewards`, one row per rollout. Then TRL's method runs on the kept rows
alone, with those two methods answering from what was drawn, so that old and reference log-probabilities, masks and
denominators are computed for kept rows only. Groups may have any size: their advantages come from the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOConfig, GRPOTrainer

import winnow
from winnow.budget import Budget, Ledger
from winnow.errors import unknown
from winnow.groups import FloatArray
from winnow.host import checkpoint
from winnow.host.trl import metrics
from winnow.host.trl.begin import begin, check_recipe
from winnow.host.trl.draw import Drawn, Example, Sampled, draw
from winnow.host.trl.empty import SkipEmpty
from winnow.host.trl.kept import Kept, complete, deal
from winnow.host.trl.ranks import Ranks
from winnow.host.trl.rewards import as_functions
from winnow.host.trl.settings import check, check_kind, with_longest
from winnow.host.trl.spares import Spares
from winnow.plan import optimizer_steps
from winnow.recipe import Recipe
from winnow.settings import fitted
from winnow.train.seeds import derive


class WinnowGRPOTrainer(GRPOTrainer):  # type: ignore[misc, unused-ignore]
    """`trl.GRPOTrainer` that draws and selects rollouts by a recipe.

    ``num_generations`` is the number of rollouts per prompt that train: m of a recipe that selects, n of one
    that trains on all (`winnow.host.trl.grpo_config` works the batch sizes out). What is generated is up to the recipe
    and the budget. Evaluation is TRL's.

    Args:
        model, reward_funcs, args, train_dataset: as for `GRPOTrainer`; rewards of winnow are welcome among
            ``reward_funcs``. A rollout for which all of them give None is unscorable.
        recipe: its name, or the recipe, as ``winnow.recipe("pods", n=64, m=16)``.
        budget: the most a generation batch may generate, over all processes; None takes n rollouts per prompt. A
            token budget reserves ``max_completion_length`` for each rollout.
        outcome: name of the reward function on which signal is judged; None takes the weighted sum of all.
        max_no_signal_steps: optimiser steps in a row without a trainable row after which the run stops.
        **keywords: everything else that `GRPOTrainer` takes.

    Raises:
        ConfigError: settings contradict the recipe, or ask for what it cannot do here; the message says what to set.
        DataError: the dataset does not fill one step.
    """

    num_generations: int

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: GRPOConfig | None = None,
        train_dataset: Any = None,
        *,
        recipe: str | Recipe = "grpo",
        budget: Budget | None = None,
        outcome: str | None = None,
        max_no_signal_steps: int = 20,
        **keywords: Any,
    ) -> None:
        self.recipe = fitted(winnow.recipe(recipe), (args or GRPOConfig()).max_completion_length)
        check_recipe(self.recipe)
        check_kind(train_dataset, keywords)
        if args is not None:
            check(self.recipe, budget, args)
        super().__init__(model, as_functions(reward_funcs), args, train_dataset, **keywords)
        if args is None:
            check(self.recipe, budget, self.args)
        self.budget = with_longest(budget, self.args)
        if hasattr(self.train_dataset, "__len__"):
            optimizer_steps(len(self.train_dataset), self.args.generation_batch_size // self.num_generations)
        if outcome is not None and outcome not in self.reward_func_names:
            raise unknown("reward function as outcome", outcome, self.reward_func_names)
        self._outcome = None if outcome is None else self.reward_func_names.index(outcome)
        self._ranks = Ranks(self.accelerator, lambda: int(self.state.global_step))
        self._spares = Spares(self.recipe, self.train_dataset, self.args.seed)
        self._identity = checkpoint.identity(self.recipe, self.budget, self.args.seed)
        self._kept: Kept | None = None
        self._generations = 0
        self._ledger = Ledger()
        self._sampling_seconds = self._update_seconds = 0.0
        self._empty = SkipEmpty(self, max_no_signal_steps)
        self.add_callback(self._empty)

    @property
    def learns_without_signal(self) -> bool:
        """Whether rows of advantage 0 have a gradient: of a divergence, an entropy bonus or an auxiliary loss."""
        return bool(
            self.beta or getattr(self, "_entropy_bonus_enabled", False) or getattr(self, "aux_loss_enabled", False)
        )

    def _generate_and_score_completions(self, inputs: list[Example]) -> dict[str, Any]:
        output: dict[str, Any]
        if not self.model.training:
            output = super()._generate_and_score_completions(inputs)
            return output
        began = perf_counter()
        before = {name: len(values) for name, values in self._metrics["train"].items()}
        with self._one_row_per_rollout() as each:
            drawn = self._draw(self._prompts(inputs, each))
            with self._ranks.phase("exchange rows"):
                kept = deal(drawn, self._ranks, self.args.steps_per_generation, self._stop_ids()[0])
            self._kept = kept
            self._log_extras(kept)
            preparing = perf_counter()
            with self._ranks.phase("log-probabilities"):
                output = super()._generate_and_score_completions([dict(example) for example in kept.examples])
        complete(output, drawn, kept, self.loss_type, self.recipe.objective)
        metrics.without_padding(self._logs, kept)
        now = perf_counter()
        drawn.seconds["logprobs"] = now - preparing
        self._report(drawn, kept, before)
        self._sampling_seconds += now - began
        return output

    @contextmanager
    def _one_row_per_rollout(self) -> Iterator[int]:
        """Let TRL take every row for a prompt of its own; yields ``num_generations``."""
        each, self.num_generations = self.num_generations, 1
        try:
            yield each
        finally:
            self.num_generations, self._kept = each, None

    def _prompts(self, inputs: Sequence[Example], each: int) -> list[Example]:
        """Return the prompts of all ranks once each; the sampler repeats them, and a rank's slice may cut a group."""
        first = self._ranks.rank * len(inputs)
        return self._ranks.gather([example for row, example in enumerate(inputs, first) if row % each == 0])

    def _draw(self, examples: list[Example]) -> Drawn:
        self._generations += 1
        examples = examples + self._spares.next(len(examples))
        seed = derive(self.args.seed, "decide", self._generations)
        step = begin(self.recipe, [example["prompt"] for example in examples], self.budget, seed)
        weights = self.reward_weights.double().cpu().numpy()
        drawn = draw(step, examples, self._ranks, self._sample, self._score, weights, self._outcome)
        self._spares.give_back(drawn.batch)
        self._ledger.add(drawn.batch.ledger)
        return drawn

    def _sample(self, examples: Sequence[Example]) -> Sampled:
        prompt_ids, ids, _, completions, logprobs, *_ = super()._generate([example["prompt"] for example in examples])
        stops = {*self._stop_ids(), self._tokenizer.pad_token_id}
        return Sampled(prompt_ids, ids, completions, logprobs, [row[-1] in stops for row in ids])

    def _score(self, examples: Sequence[Example], sampled: Sampled) -> tuple[FloatArray, list[dict[str, Any]]]:
        inputs = [dict(example) for example in examples]
        prompts = [example["prompt"] for example in examples]
        parts = super()._calculate_rewards(inputs, prompts, sampled.completions, sampled.ids)
        logged = {name: list(values) for name, values in self._pending_extra_logs.items()}
        self._pending_extra_logs.clear()
        extras = [{name: values[k] for name, values in logged.items() if k < len(values)} for k in range(len(inputs))]
        return parts.double().cpu().numpy(), extras

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        return super()._generate(prompts) if self._kept is None else self._kept.generated()

    def _calculate_rewards(self, *arguments: Any, **keywords: Any) -> torch.Tensor:
        if self._kept is not None:
            return torch.tensor(self._kept.all_parts, dtype=torch.float32, device=self.accelerator.device)
        parts: torch.Tensor = super()._calculate_rewards(*arguments, **keywords)
        return parts

    def _stop_ids(self) -> list[int]:
        return list(getattr(self, "eos_token_ids", [self._tokenizer.eos_token_id]))

    def _log_extras(self, kept: Kept) -> None:
        for name in {name for row in kept.rows for name in row.extra}:
            self._pending_extra_logs[name] = [row.extra.get(name) for row in kept.rows]

    def _report(self, drawn: Drawn, kept: Kept, before: dict[str, int]) -> None:
        log = self._metrics["train"]
        metrics.replace_since(log, before, metrics.generated(drawn) | metrics.rewarded(drawn, self.reward_func_names))
        seconds = {f"winnow/seconds/{phase}": spent for phase, spent in drawn.seconds.items()}
        for name, value in (metrics.describe(drawn, kept) | seconds).items():
            log[name].append(value)
        totals = {"rollouts": "rollouts", "tokens": "tokens", "trained_rows": "trained", "unscorable": "unscorable"}
        for name, field in totals.items():
            log[f"winnow/total/{name}"] = [getattr(self._ledger, field)]

    def compute_loss(self, model: Any, inputs: dict[str, Any], *arguments: Any, **keywords: Any) -> torch.Tensor:
        """Return TRL's loss with kept rows as its denominator."""
        loss: torch.Tensor = super().compute_loss(model, inputs, *arguments, **keywords)
        if not self.model.training:
            return loss
        self._empty.saw(inputs["advantages"])
        # bnpo divides by the tokens of a micro-batch, so one that is partly padding would count too much.
        share = inputs["winnow_real"].float().mean() if self.loss_type == "bnpo" else 1.0
        scaled: torch.Tensor = loss * inputs["winnow_scale"] * share
        return scaled

    def training_step(self, *arguments: Any, **keywords: Any) -> torch.Tensor:
        """Make one forward and backward pass, with sampling before it where it is due."""
        began = perf_counter()
        with self._ranks.phase("update"):
            loss: torch.Tensor = super().training_step(*arguments, **keywords)
        self._update_seconds += perf_counter() - began - self._sampling_seconds
        self._sampling_seconds = 0.0
        if self._step % self.current_gradient_accumulation_steps == 0:
            self._metrics["train"]["winnow/seconds/update"].append(self._update_seconds)
            self._metrics["train"]["winnow/skipped_steps"] = [self._empty.skipped]
            self._update_seconds = 0.0
        return loss

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        if self.args.should_save:
            # Before TRL's own files: a checkpoint that has those has ours.
            folder = Path(self._get_output_dir(trial=trial)) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            checkpoint.save(folder, self._state())
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, path: str | None) -> None:
        super()._load_optimizer_and_scheduler(path)
        if path is None or (content := checkpoint.load(Path(path), self._identity)) is None:
            return
        self._generations = content["generations"]
        self._ledger = Ledger.from_dict(content["ledger"])
        self._empty.skipped, self._empty.in_a_row = content["skipped"]
        self.recipe.load_state_dict(content["state"])
        self._spares.load_state_dict(content["spares"])

    def _state(self) -> dict[str, Any]:
        return {
            "identity": self._identity,
            "generations": self._generations,
            "ledger": self._ledger.as_dict(),
            "skipped": [self._empty.skipped, self._empty.in_a_row],
            "state": self.recipe.state_dict(),
            "spares": self._spares.state_dict(),
        }
