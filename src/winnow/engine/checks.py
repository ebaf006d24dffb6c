"""Whether a model can take the prompts of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.errors import ConfigError

if TYPE_CHECKING:
    from winnow.engine.sampler import Sampler


def check_prompts(prompts: list[list[int]], sampler: Sampler) -> None:
    """Refuse prompts that the model would fail on.

    Raises:
        ConfigError: if there is none, one is empty, holds an id outside the vocabulary, or is too long with its
        completion
            for the model's positions or sliding window.
    """
    if not prompts:
        raise ConfigError("a session needs at least one prompt, found none")
    config = sampler.model.config.get_text_config()
    for index, prompt in enumerate(prompts):
        if prompt and not 0 <= min(prompt) <= max(prompt) < config.vocab_size:
            raise ConfigError(
                f"prompt {index} holds token ids from {min(prompt)} to {max(prompt)}, but the model's vocabulary "
                f"has {config.vocab_size}; is the tokenizer the model's own?"
            )
        if not prompt:
            raise ConfigError(
                f"prompt {index} has no tokens; sampling needs at least one (a begin-of-sequence id will do)"
            )
    longest = max(map(len, prompts)) + sampler.max_new_tokens
    for setting in ("max_position_embeddings", "sliding_window"):
        limit = getattr(config, setting, None)
        if setting == "sliding_window" and not getattr(config, "use_sliding_window", True):
            continue
        if limit is not None and longest > limit:
            raise ConfigError(
                f"the longest prompt and max_new_tokens={sampler.max_new_tokens} make {longest} tokens, but "
                f"the model's {setting} is {limit}; shorten the prompts or lower max_new_tokens"
            )
