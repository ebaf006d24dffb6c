"""Is what a worker said well formed? It ran foreign code, so nothing may be taken for granted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from winnow import errors

# Of each kind, what its content must have; all of it is text. See `winnow.reward.pool.protocol.Said`.
_TEXTS: Mapping[str, Sequence[str]] = {
    "ready": (),
    "broken": ("message",),
    "unfit": ("message",),
    "compared": ("message",),
    "verdict": ("reason",),
    "memory": (),
    "output limit": ("detail",),
    "raised": ("type", "message"),
    "failed": ("what", "trace"),
}

_NUMBER = (int, float, bool, type(None))


def records(payload: bytes) -> list[list[Any]]:
    """Read a frame into lists of kind, number, seconds and content; `ValueError` or `TypeError` if it is none."""
    try:
        found = json.loads(payload)
    except RecursionError as error:
        raise ValueError("a frame that is nested too deeply") from error
    for record in found:
        kind, number, seconds, content = record
        if (type(kind), type(number), type(seconds)) != (str, int, float) or not 0 <= seconds < math.inf:
            raise ValueError(f"a word of {kind!r}, {number!r}, {seconds!r}")
        if not _holds(kind, {} if content is None else content):
            raise ValueError(f"a {kind!r} without what belongs to it")
    return list(found)


def _holds(kind: str, content: Any) -> bool:
    texts = _TEXTS.get(kind)
    if texts is None or type(content) is not dict or any(type(content.get(name)) is not str for name in texts):
        return False
    if kind == "raised":
        return errors_class(content["type"]) is not None
    return kind != "verdict" or _is_verdict(content)


def _is_verdict(content: Mapping[str, Any]) -> bool:
    parts, events = content.get("parts", {}), content.get("events")
    return (
        {"score", "outcome"} <= content.keys()
        and type(parts) is dict
        and all(type(value) in _NUMBER for value in (content["score"], content["outcome"], *parts.values()))
        and type(events) is list
        and all(_is_event(event) for event in events)
    )


def _is_event(event: Any) -> bool:
    if type(event) is not list or len(event) != 4:
        return False
    name, limit, message, trace = event
    return type(name) is type(message) is type(trace) is str and type(limit) in (int, float) and 0 <= limit <= 1


def errors_class(name: str) -> type[errors.WinnowError] | None:
    """The error of winnow's of this name, if there is one."""
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, errors.WinnowError) else None
