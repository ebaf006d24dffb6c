"""winnow inside OpenRLHF 0.11.2: waves of rollouts, and exactly `n_samples_per_prompt` of every prompt handed on.

Run with ``--rollout.n_samples_per_prompt 4 --algo.advantage.estimator group_norm`` (or ``dr_grpo``, ``rloo``):

    import runpy, winnow, openrlhf_winnow

    openrlhf_winnow.install(winnow.recipe("vigor+pods", initial=4, m=4))
    runpy.run_module("openrlhf.cli.train_ppo_ray", run_name="__main__")
"""

import math
from collections import defaultdict

import numpy as np
import ray
import torch
from openrlhf.trainer import ppo_trainer
from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator, _collect_prompt_batch

from winnow.errors import ConfigError
from winnow.host.rectangular import rectangle


class WinnowSamplesGenerator(SamplesGenerator):
    """Draw what the recipe asks for, keep m of each prompt; the trainer sees an ordinary batch."""

    def __init__(self, strategy, prompts_dataloader, eval_dataloader, tokenizer, vllm_engines, *, recipe, seed=0):
        super().__init__(strategy, prompts_dataloader, eval_dataloader, tokenizer, vllm_engines)
        self.recipe, self.seed, self.ledger = recipe, seed, None

    def _generate_vllm(self, dataloader_iter, num_prompts, dynamic_filtering, **generate_kwargs):
        if dataloader_iter is getattr(self, "_eval_dataloader_iter", None):
            return super()._generate_vllm(dataloader_iter, num_prompts, dynamic_filtering, **generate_kwargs)
        if dynamic_filtering:
            raise ConfigError("dynamic filtering replaces prompts on its own: drop --algo.dynamic_filtering_enable")
        prompts, labels, images, exhausted = _collect_prompt_batch(dataloader_iter, num_prompts)
        if not prompts:
            return [], 0, True
        step, told, owners = self.recipe.begin(len(prompts), seed=self.seed), [], []
        self.seed += 1
        while not step.done:
            for index, drawn in self._draw(step.ask(), prompts, labels, images, generate_kwargs):
                told += drawn
                owners += [index] * len(drawn)
                rewards, outcomes = [_value(row.rewards) for row in drawn], [_value(row.scores) for row in drawn]
                step.tell([index] * len(drawn), rewards, outcomes, [int(row.response_length) for row in drawn])
        like = next((row for row in told if _value(row.rewards) is not None), None)
        if like is None:
            raise ConfigError("no rollout came with a reward: set --reward.remote_url or --train.agent_func_path")
        batch = step.finish()
        self.ledger = batch.ledger
        kept = rectangle(batch, owners, self.args.rollout.n_samples_per_prompt)
        for rows in kept.rows[~kept.trains]:
            _level([told[row] for row in rows], like)
        return [told[row] for row in kept.rows.ravel()], len(prompts), exhausted

    def _draw(self, requests, prompts, labels, images, generate_kwargs):
        """Yield (prompt, its experiences) for one wave; a dispatch has one count for all its prompts."""
        by_count = defaultdict(list)
        for index, count in requests:
            by_count[count].append(index)
        refs = {}
        for count, indices in by_count.items():
            columns = [[column[index] for index in indices] for column in (prompts, labels, images)]
            many = {**generate_kwargs, "n_samples_per_prompt": count}
            sent = self._dispatch_prompts_to_vllm(columns[0], columns[1], images=columns[2], **many)
            refs.update(zip(sent, indices, strict=True))
        waiting = list(refs)
        while waiting:
            ready, waiting = ray.wait(waiting, num_returns=1, timeout=10.0)
            for ref in ready:
                yield refs[ref], [self._process_response_into_experience(r, **generate_kwargs) for r in ray.get(ref)]


def _value(tensor):
    """Return the number in a one-element tensor; None where there is none, or it is not finite."""
    number = math.nan if tensor is None else float(tensor[0])
    return number if np.isfinite(number) else None


def _level(group, like):
    """Give a group one reward: its baseline then takes it to advantage 0. Fields that `like` has are filled with 0."""
    for row in group:
        row.rewards = torch.zeros_like(like.rewards)
        row.scores = None if like.scores is None else torch.zeros_like(like.scores)
        row.info = {name: torch.nan_to_num(row.info.get(name, torch.zeros_like(v))) for name, v in like.info.items()}


def install(recipe, seed=0):
    """Let `openrlhf.cli.train_ppo_ray`, run after this, build a trainer that samples with the recipe."""
    base = ppo_trainer.PPOTrainer.__ray_metadata__.modified_class  # Ray refuses to subclass the actor class itself

    class WinnowPPOTrainer(base):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            old = self.samples_generator
            parts = (old.strategy, old.prompts_dataloader, old.eval_dataloader, old.tokenizer, old.vllm_engines)
            self.samples_generator = WinnowSamplesGenerator(*parts, recipe=recipe, seed=seed)

    ppo_trainer.PPOTrainer = ray.remote(WinnowPPOTrainer)
    return WinnowPPOTrainer
