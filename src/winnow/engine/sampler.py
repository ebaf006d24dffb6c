"""The sampler: a model, a tokenizer and the rule tokens are drawn by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.engine.decoder import CopyingDecoder, Decoder
from winnow.engine.sampling import SamplingRule
from winnow.engine.session import Session
from winnow.engine.shared import SharedPromptDecoder
from winnow.errors import ConfigError


def default_stop_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Return the ids that end a completion: the tokenizer's end of sequence and the generation config's."""
    found = {tokenizer.eos_token_id} if tokenizer is not None else set()
    generation = getattr(model, "generation_config", None)
    eos = getattr(generation, "eos_token_id", None)
    found.update(eos if isinstance(eos, list | tuple) else [eos])
    return tuple(sorted(int(i) for i in found if i is not None))


class Sampler:
    """Samples completions of token ids, never of text.

    Args:
        model: a ``transformers`` causal language model on one device; it is put into evaluation mode while
            sampling and back afterwards.
        tokenizer: decodes completions for people and reward functions; None leaves ``Rollout.text`` empty.
        max_new_tokens: tokens of a completion at most, the stop id included.
        temperature: divides the logits; 0 takes the most likely token.
        top_p: nucleus, renormalised; 1 keeps every token.
        top_k: most likely tokens kept, renormalised; 0 keeps every token.
        slots: rollouts decoded together at most.
        stop_ids: ids that end a completion (and belong to it); None takes them from tokenizer and model.

    Raises:
        ConfigError: for a setting out of range, or a model whose attention cannot take a mask per row.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        slots: int = 256,
        stop_ids: Sequence[int] | None = None,
    ) -> None:
        if max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens is {max_new_tokens}; it must be at least 1")
        if slots < 1:
            raise ConfigError(f"slots is {slots}; it must be at least 1 (rollouts decoded together)")
        self.model = model
        self.tokenizer = tokenizer
        self.max_new_tokens = max_new_tokens
        self.rule = SamplingRule(temperature, top_k, top_p)
        self.slots = slots
        self.stop_ids = tuple(stop_ids) if stop_ids is not None else default_stop_ids(model, tokenizer)
        attention = getattr(model.config.get_text_config(), "_attn_implementation", "eager")
        if attention not in ("sdpa", "eager"):
            raise ConfigError(
                f"the model uses attention {attention!r}; sampling needs 'sdpa' or 'eager': "
                "load it with attn_implementation='sdpa'"
            )

    def session(self, prompts: Sequence[Sequence[int]], *, seed: int | Sequence[int], forks: bool = False) -> Session:
        """Open a session over prompts of token ids.

        Args:
            prompts: token ids of each prompt, special tokens included.
            seed: entropy of the step. A rollout is decided by (seed, prompt index, draw), whatever shares its
                batch, up to the rounding of the model itself.
            forks: make room for prompts that `Session.extend` adds.

        Raises:
            ConfigError: for an empty prompt, or one too long for the model's positions or sliding window.
        """
        return Session(self, prompts, seed, forks)

    def decoder(self, entries: int, longest: int) -> Decoder:
        """Build the decoder of a session that keeps ``entries`` prompts of at most ``longest`` tokens."""
        kind = SharedPromptDecoder if SharedPromptDecoder.fits(self.model) else CopyingDecoder
        return kind(
            self.model,
            slots=self.slots,
            entries=entries,
            longest=longest,
            max_new_tokens=self.max_new_tokens,
        )
