"""Prompts from rows: joined, checked, put into template and system message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.rollout import Content, Message, Prompt

SLOT = "{prompt}"
_ROLES = ("system", "user", "assistant", "tool")


def check_template(template: str | None) -> None:
    """Raise `ConfigError` if a template has no place for the prompt."""
    if template is not None and SLOT not in template:
        raise errors.ConfigError(f"template {template!r} has no {SLOT}, so every prompt would be the same")


def content_of(values: Sequence[Any], template: str | None, system: str | None) -> Content:
    """Build the content of a prompt from the values of its columns.

    Texts are joined by new lines, empty ones left out. A list of messages (from one column) stays a list; the
    template then applies to its last turn.

    Args:
        values: one value per prompt column.
        template: text with ``{prompt}`` in it, or None.
        system: a system message to put first, or None; a plain text prompt becomes a list of messages then.

    Raises:
        ValueError: if the prompt cannot be used; the message says why.
    """
    if len(values) == 1 and isinstance(values[0], list):
        messages = check_messages(values[0])
        if template is not None:
            last = {**messages[-1], "content": template.replace(SLOT, messages[-1]["content"])}
            messages = [*messages[:-1], last]
        if system is None:
            return messages
        if messages[0]["role"] == "system":
            raise ValueError("the prompt has a system message of its own; unset the option system")
        return [{"role": "system", "content": system}, *messages]
    text = _join(values)
    if template is not None:
        text = template.replace(SLOT, text)
    if system is None:
        return text
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def check_messages(messages: Sequence[Any]) -> list[Message]:
    """Check a chat prompt.

    Roles must be known and contents text; only the first message may be the system's, and the last must
    be the user's.

    Raises:
        ValueError: saying which message is wrong.
    """
    if not messages:
        raise ValueError("the prompt is an empty list of messages")
    checked: list[Message] = []
    for number, message in enumerate(messages, start=1):
        if not isinstance(message, Mapping) or not {"role", "content"} <= set(message):
            raise ValueError(f"message {number} is not an object with 'role' and 'content'")
        role, content = message["role"], message["content"]
        if role not in _ROLES:
            raise ValueError(f"message {number} has the role {role!r} (allowed: {', '.join(_ROLES)})")
        if not isinstance(content, str):
            raise ValueError(f"message {number} has a content of type {type(content).__name__}, expected text")
        if role == "system" and number > 1:
            raise ValueError(f"message {number} is a system message; only the first may be one")
        checked.append({"role": role, "content": content})
    if checked[-1]["role"] != "user":
        raise ValueError(
            f"the prompt ends with a turn of {checked[-1]['role']!r}; the last turn must be the user's, and "
            "continuing another turn is not supported"
        )
    return checked


def check_text(name: str, text: str) -> None:
    r"""Refuse half of a surrogate pair, which JSON can spell (``"\ud83d"``) and no encoding can write.

    Raises:
        ValueError: naming the half and what it was found in.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise ValueError(f"the {name} holds the lone surrogate {half}, which stands for no character") from None


def drop_long(prompts: Sequence[Prompt], lengths: Sequence[int], limit: int) -> tuple[list[Prompt], str]:
    """Leave out the prompts that are too long; none is ever cut.

    Args:
        prompts: the prompts.
        lengths: tokens of each, after the chat template.
        limit: the most tokens allowed.

    Returns:
        The prompts kept, in order, and a note with the count and ids of the others (empty if there are none).
    """
    kept = [prompt for prompt, length in zip(prompts, lengths, strict=True) if length <= limit]
    long = [(p.id, n) for p, n in zip(prompts, lengths, strict=True) if n > limit]
    if not long:
        return kept, ""
    named = ", ".join(f"{name} ({length})" for name, length in long[:10])
    more = f" and {len(long) - 10} more" if len(long) > 10 else ""
    return kept, (
        f"dropped {len(long)} of {len(prompts)} prompts longer than {limit} tokens (max_prompt_tokens): {named}{more}"
    )


def _join(values: Sequence[Any]) -> str:
    texts = []
    for value in values:
        if value is None:
            continue
        if not isinstance(value, str):
            raise ValueError(f"the prompt is of type {type(value).__name__}, expected text or a list of messages")
        if value.strip():
            texts.append(value)
    if not texts:
        raise ValueError("the prompt is empty")
    return "\n".join(texts)
