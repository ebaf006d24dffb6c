"""Prompts from rows: joined, checked, put into template and system message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow import errors
from winnow.rollout import Content, Message
from winnow.task.messages import check_last, is_conversation, read_messages

SLOT = "{prompt}"


def check_template(template: str | None) -> None:
    """Raise `ConfigError` if a template has no place for the prompt."""
    if template is not None and SLOT not in template:
        raise errors.ConfigError(f"template {template!r} has no {SLOT}, so every prompt would be the same")


def take_last_turn(values: Sequence[Any]) -> tuple[list[Any], str | None]:
    """Take the last turn off a conversation if it is the assistant's.

    Args:
        values: one value per prompt column.

    Returns:
        The values without it, and its text; None if there is no such turn.

    Raises:
        ValueError: if a message of the conversation is wrong.
    """
    if len(values) == 1 and is_conversation(values[0]):
        messages = read_messages(values[0])
        if messages[-1]["role"] == "assistant":
            return [messages[:-1]], messages[-1]["content"]
    return list(values), None


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
    if len(values) == 1 and is_conversation(values[0]):
        return _chat(read_messages(values[0]), template, system)
    text = _join(values)
    if template is not None:
        text = template.replace(SLOT, text)
    if system is None:
        return text
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def _chat(messages: list[Message], template: str | None, system: str | None) -> list[Message]:
    check_last(messages)
    if not messages[-1]["content"].strip():
        raise ValueError("the prompt is empty: its last message has no text")
    if template is not None:
        last = {**messages[-1], "content": template.replace(SLOT, messages[-1]["content"])}
        messages = [*messages[:-1], last]
    if system is None:
        return messages
    if messages[0]["role"] == "system":
        raise ValueError("the prompt has a system message of its own; unset the option system")
    return [{"role": "system", "content": system}, *messages]


def check_text(name: str, text: str) -> None:
    r"""Refuse what no tokenizer should see: a NUL, or half of a surrogate pair.

    JSON can spell the latter (``"\ud83d"``), and no encoding can write it.

    Raises:
        ValueError: naming the character and what it was found in.
    """
    if "\0" in text:
        raise ValueError(f"the {name} holds a NUL character")
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise ValueError(f"the {name} holds the lone surrogate {half}, which stands for no character") from None


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
