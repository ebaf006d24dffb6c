"""Turn a prompt into token ids, once; sampled ids are appended to these and never encoded again."""

from __future__ import annotations

from typing import Any

from winnow import errors
from winnow.rollout import Message, Prompt


def encode_prompt(
    tokenizer: Any,
    prompt: Prompt,
    *,
    system: str | None = None,
    template: str | None = None,
    chat: bool = False,
) -> list[int]:
    """Encode a prompt up to the place where the answer starts.

    Args:
        tokenizer: a transformers tokenizer.
        prompt: its content is plain text, or messages for the chat template.
        system: a system message for chat prompts that do not bring their own.
        template: a chat template (Jinja) to use in place of the tokenizer's own.
        chat: put plain text through the chat template too, as one user message.

    Returns:
        The ids, with what the tokenizer puts before a text (such as a start token) and nothing after it.

    Raises:
        ConfigError: if a chat template is needed and there is none, or ``system`` or ``template`` is given
            for a plain-text prompt.
        DataError: if the messages are empty, have no role or content, end in an assistant turn, or are
            refused by the template; or if the prompt encodes to no token.
    """
    if isinstance(prompt.content, str) and not chat:
        if system is not None or template is not None:
            raise errors.ConfigError(
                f"prompt {prompt.id!r} is plain text, where a system message or chat template has no place; "
                "set chat=true to send it through the chat template"
            )
        ids = _encode_text(tokenizer, prompt.content)
    else:
        ids = _encode_chat(tokenizer, prompt, system, template)
    if not ids:
        raise errors.DataError(f"prompt {prompt.id!r} is empty: it encodes to no token")
    return ids


def _encode_text(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = list(tokenizer(text, return_attention_mask=False)["input_ids"])
    # Some tokenizers close a text with the end-of-sequence token; an answer cannot follow that.
    if ids and ids[-1] == tokenizer.eos_token_id and not text.endswith(str(tokenizer.eos_token)):
        ids.pop()
    return ids


def _encode_chat(tokenizer: Any, prompt: Prompt, system: str | None, template: str | None) -> list[int]:
    if template is None and not getattr(tokenizer, "chat_template", None):
        raise errors.ConfigError(
            f"prompt {prompt.id!r} needs a chat template and the tokenizer has none. Three ways out: use an "
            "instruction-tuned model whose tokenizer has one; give one with --set chat_template=... (Jinja "
            "text); or make the prompts plain text"
        )
    messages = _messages(prompt)
    if system is not None and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": system})
    try:
        ids: list[int] = tokenizer.apply_chat_template(
            messages, chat_template=template, add_generation_prompt=True, tokenize=True, return_dict=False
        )
    except Exception as error:
        # Templates raise whatever jinja does, which need not be importable here.
        if not type(error).__module__.startswith("jinja2"):
            raise
        raise errors.DataError(f"the chat template refuses prompt {prompt.id!r}: {error}") from error
    return list(ids)


def _messages(prompt: Prompt) -> list[Message]:
    if isinstance(prompt.content, str):
        return [{"role": "user", "content": prompt.content}]
    messages = list(prompt.content)
    if not messages:
        raise errors.DataError(f"prompt {prompt.id!r} has no messages")
    for number, message in enumerate(messages, start=1):
        missing = [key for key in ("role", "content") if key not in message]
        if missing:
            raise errors.DataError(f"message {number} of prompt {prompt.id!r} has no {' and no '.join(missing)}")
    if messages[-1]["role"] == "assistant":
        raise errors.DataError(
            f"prompt {prompt.id!r} ends in an assistant turn, which the policy is to write; drop the last "
            "message, or move it to the answer column"
        )
    return messages
