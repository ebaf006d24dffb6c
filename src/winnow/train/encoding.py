"""Prompts as token ids, and which of them are too long for the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.errors import ConfigError, DataError
from winnow.model.prompts import encode_prompt
from winnow.rollout import Prompt
from winnow.train.config import TrainConfig

_SHOWN_IDS = 5


@dataclass(frozen=True)
class Split:
    """Prompts and their token ids, in the same order."""

    prompts: Sequence[Prompt]
    encoded: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.prompts)

    def pick(self, rows: Sequence[int]) -> Split:
        """Return the rows at the given positions."""
        return Split([self.prompts[row] for row in rows], [self.encoded[row] for row in rows])


def prompt_limit(config: TrainConfig, model: Any) -> tuple[int, str]:
    """Return the longest prompt that can be used, and the setting that says so.

    Raises:
        ConfigError: the model's positions leave no room for a prompt.
    """
    positions = getattr(model.config, "max_position_embeddings", None)
    longest = max(config.max_new_tokens, config.eval_max_new_tokens or 0)
    if positions is None or positions - longest >= config.max_prompt_tokens:
        return config.max_prompt_tokens, f"max_prompt_tokens={config.max_prompt_tokens}"
    if positions <= longest:
        raise ConfigError(f"max_new_tokens={longest} fills all {positions} positions of the model; lower it")
    return positions - longest, f"the model's {positions} positions less max_new_tokens={longest}"


def encode(prompts: Sequence[Prompt], tokenizer: Any, limit: int, config: TrainConfig) -> tuple[Split, list[str]]:
    """Encode prompts; those longer than ``limit`` tokens are left out, never cut.

    Returns:
        The prompts that fit, and the ids of the others.
    """
    kept: list[Prompt] = []
    encoded: list[Sequence[int]] = []
    dropped: list[str] = []
    for prompt in prompts:
        ids = encode_prompt(tokenizer, prompt, system=config.system, template=config.chat_template, chat=config.chat)
        if len(ids) > limit:
            dropped.append(prompt.id)
        else:
            kept.append(prompt)
            encoded.append(ids)
    return Split(kept, encoded), dropped


def check_left(rows: int, prompts_per_step: int, dropped: str) -> None:
    """Refuse a split in which too few prompts fit; ``dropped`` is the note about the others.

    Raises:
        DataError: fewer than one step takes.
    """
    if rows < prompts_per_step:
        raise DataError(
            f"{dropped}. {rows or 'None'} fit, and a step takes prompts_per_step={prompts_per_step}: raise "
            "max_prompt_tokens as far as the model's positions less max_new_tokens allow, or shorten the prompts"
        )


def note_dropped(split: str, ids: Sequence[str], limit: int, why: str) -> str:
    """Return the note about prompts left out of a split, with the first of their ids."""
    more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
    return (
        f"{len(ids)} {split} prompts are longer than {limit} tokens ({why}) and were dropped: "
        f"{', '.join(ids[:_SHOWN_IDS])}{more}"
    )
