"""A small TRL run on the built-in policy and task, for tests: plain or with a recipe, in any process."""

from __future__ import annotations

import copy
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from tests.host.watched import Watched, lines
from winnow import task
from winnow.host.trl import WinnowGRPOTrainer, as_function
from winnow.model.load import load

__all__ = ["MIX", "POLICY", "Watched", "config", "correct", "dataset", "lines", "policy", "trainer"]

MIX = task.load("mix", seed=0, options={"train_size": 64, "test_size": 8, "spread": 0.0})
POLICY = load(None, device="cpu")
correct = as_function(MIX.reward)


def dataset(rows: int = 64, chat: bool = False) -> Dataset:
    """The built-in task with its columns."""
    prompts = MIX.train[:rows]
    content = [[{"role": "user", "content": p.content}] if chat else p.content for p in prompts]
    columns = ("numbers", "target")
    return Dataset.from_dict(
        {"prompt": content, "answer": [p.answer for p in prompts]}
        | {name: [p.fields.get(name) for p in prompts] for name in columns}
    )


def config(folder: Any, **changes: Any) -> GRPOConfig:
    """Settings for a CPU: 4 prompts a step, 4 rollouts each, in 2 micro-batches."""
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "max_steps": 3,
        "seed": 1,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 2,
        "num_generations": 4,
        "max_completion_length": 12,
        "gradient_checkpointing": False,
        "temperature": 1.0,
        "beta": 0.0,
    }
    return GRPOConfig(**(settings | changes))


def policy() -> torch.nn.Module:
    """A fresh copy of the built-in policy."""
    return copy.deepcopy(POLICY.model)


def trainer(args: GRPOConfig, reward: Any = correct, *, data: Dataset | None = None, **options: Any) -> GRPOTrainer:
    """Return TRL's trainer, or winnow's where a recipe is given."""
    kind = options.pop("kind", WinnowGRPOTrainer if "recipe" in options else GRPOTrainer)
    options.setdefault("model", policy())
    options.setdefault("processing_class", copy.deepcopy(POLICY.tokenizer))
    run = kind(reward_funcs=reward, args=args, train_dataset=dataset() if data is None else data, **options)
    run.remove_callback(PrinterCallback)
    return run
