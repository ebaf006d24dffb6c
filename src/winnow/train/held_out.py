"""Held-out accuracy of the policy, with the sampling settings of evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from winnow.engine import Sampler
from winnow.train.config import TrainConfig
from winnow.train.evaluate import Evaluation, evaluate
from winnow.train.prepare import Setup


def held_out(config: TrainConfig, setup: Setup, stopped: Callable[[], bool] = lambda: False) -> Evaluation:
    """Evaluate the policy on the held-out prompts with the evaluation's own settings."""
    greedy = config.eval_temperature == 0
    samples = 1 if greedy else config.eval_samples
    ks: Sequence[int] = config.pass_at_k if config.pass_at_k is not None else [samples] if samples > 1 else []
    sampler = Sampler(
        setup.model,
        setup.tokenizer,
        max_new_tokens=config.eval_max_new_tokens or config.max_new_tokens,
        temperature=config.eval_temperature,
        top_p=config.eval_top_p,
        slots=config.slots,
    )
    return evaluate(
        sampler,
        setup.task.reward,
        setup.test.prompts,
        setup.test.encoded,
        samples=samples,
        seed=config.eval_seed,
        ks=ks,
        stopped=stopped,
    )
