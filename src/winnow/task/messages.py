"""Chat prompts: the forms they come in, and what makes one usable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winnow.rollout import Message

ROLES = ("system", "user", "assistant", "tool")
# ShareGPT's words for the same.
_SPEAKERS: Mapping[str, str] = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "function": "tool",
    "observation": "tool",
}


def read_messages(value: Sequence[Any] | Mapping[str, Any]) -> list[Message]:
    """Read a conversation: a list of messages, or one object with a list per field as some tables store it.

    A message is ``{"role", "content"}`` or ``{"from", "value"}``; its content is text or a list of text parts
    (``{"type": "text", "text"}``), which are joined. Only the first message may be the system's.

    Raises:
        ValueError: saying which message is wrong.
    """
    messages = _rows(value) if isinstance(value, Mapping) else value
    if not messages:
        raise ValueError("the prompt is an empty list of messages")
    checked: list[Message] = []
    for number, message in enumerate(messages, start=1):
        role, content = _fields(number, message)
        if role not in ROLES:
            raise ValueError(f"message {number} has the role {role!r} (allowed: {', '.join(ROLES)})")
        if not isinstance(content, str):
            raise ValueError(f"message {number} has a content of type {type(content).__name__}, expected text")
        if role == "system" and number > 1:
            raise ValueError(f"message {number} is a system message; only the first may be one")
        checked.append({"role": role, "content": content})
    return checked


def is_conversation(value: Any) -> bool:
    """Tell whether a value is meant as messages, whether or not they can be used."""
    if isinstance(value, list):
        return True
    return isinstance(value, Mapping) and ({"role", "content"} <= set(value) or {"from", "value"} <= set(value))


def check_last(messages: Sequence[Message]) -> None:
    """Refuse a conversation whose last turn is not the user's.

    Raises:
        ValueError: saying whose it is and what can be done.
    """
    role = messages[-1]["role"]
    if role == "assistant":
        raise ValueError(
            "the prompt ends with a turn of 'assistant', which the policy is to write; "
            "--set task_options.last_turn=gold takes it as the gold answer, =drop leaves it out"
        )
    if role != "user":
        raise ValueError(f"the prompt ends with a turn of {role!r}; the last turn must be the user's")


def _rows(value: Mapping[str, Any]) -> list[Any]:
    names = ("role", "content") if "role" in value else ("from", "value")
    columns = [value[name] for name in names]
    if not all(isinstance(column, list) for column in columns):
        return [value]
    if len(columns[0]) != len(columns[1]):
        raise ValueError(f"the prompt has {len(columns[0])} roles for {len(columns[1])} contents")
    return [dict(zip(names, pair, strict=True)) for pair in zip(*columns, strict=True)]


def _fields(number: int, message: Any) -> tuple[Any, Any]:
    if isinstance(message, Mapping):
        if "role" in message and "content" in message:
            return message["role"], _joined(message["content"])
        if "from" in message and "value" in message:
            speaker = message["from"]
            return _SPEAKERS.get(speaker, speaker) if isinstance(speaker, str) else speaker, message["value"]
    raise ValueError(f"message {number} is not an object with 'role' and 'content'")


def _joined(content: Any) -> Any:
    if not isinstance(content, list) or not content:
        return content
    texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    whole = [text for text in texts if isinstance(text, str)]
    return "\n".join(whole) if len(whole) == len(content) else content
