"""A policy of about 20 thousand weights and a task it can learn in a few steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from winnow.reward import Item
from winnow.rollout import Prompt, Verdict
from winnow.task import Task, fingerprint
from winnow.train import TrainConfig
from winnow.train.progress import QuietProgress

CHARACTERS = "0123=+"

# Matrices this small only lose time in a second thread; and sums in one thread never change their order.
torch.set_num_threads(1)


@dataclass(frozen=True)
class FirstCharacter:
    """1 when the completion starts with the answer."""

    name: str = "first character"

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        return [self._judge(item) for item in items]

    def _judge(self, item: Item) -> Verdict:
        right = float(item.completion.startswith(item.prompt.answer or "?"))
        return Verdict(score=right, outcome=right, parts={"right": right, "length": float(len(item.completion))})


def make_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {token: index for index, token in enumerate(["<eos>", *CHARACTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<eos>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<eos>")


def make_policy(seed: int = 0) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    torch.manual_seed(seed)
    shape = LlamaConfig(
        vocab_size=1 + len(CHARACTERS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(shape).eval(), make_tokenizer()


def make_task(train: int = 12, test: int = 8, reward: object = None) -> Task:
    def rows(split: str, size: int) -> list[Prompt]:
        return [Prompt(f"{split}:{i}", f"{i % 4}+{(i // 4) % 4}=", answer=str(i % 4)) for i in range(size)]

    rows_train, rows_test = rows("train", train), rows("test", test)
    return Task("toy", rows_train, rows_test, reward or FirstCharacter(), fingerprint(rows_train, rows_test))


@pytest.fixture
def task() -> Task:
    return make_task()


def make_settings(folder: Path, **changes: object) -> TrainConfig:
    """Settings of a run of a second; keyword arguments change some."""
    base = {
        "recipe": "grpo",
        "n": 4,
        "prompts_per_step": 4,
        "steps": 4,
        "lr": 0.01,
        "max_new_tokens": 4,
        "eval_every": 2,
        "eval_samples": 2,
        "checkpoint_every": 2,
        "out": str(folder),
    }
    return TrainConfig(**{**base, **changes})


@pytest.fixture
def settings(tmp_path: Path):
    """`make_settings` for a folder of this test."""

    def build(**changes: object) -> TrainConfig:
        return make_settings(tmp_path / "run", **changes)

    return build


class Notes(QuietProgress):
    """Collects what a run shows."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[dict[str, object]] = []
        self.fractions: list[float] = []
        self.summary: dict[str, object] = {}

    def step(self, metrics, fraction) -> None:
        self.steps.append(dict(metrics))
        self.fractions.append(fraction)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def end(self, summary) -> None:
        self.summary = dict(summary)


@pytest.fixture
def notes() -> Notes:
    return Notes()
