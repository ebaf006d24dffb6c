"""Models: loading a policy and its tokenizer, turning prompts into ids, and fetching a small real one."""

from winnow.model.lora import LoraSettings

__all__ = ["LoraSettings"]
