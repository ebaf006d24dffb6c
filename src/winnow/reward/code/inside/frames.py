"""Messages on a pipe: four bytes of length, then JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

HEADER = struct.Struct("!I")


def pack(message: Any) -> bytes:
    """Return one message as bytes."""
    body = json.dumps(message, ensure_ascii=True, allow_nan=False).encode()
    return HEADER.pack(len(body)) + body


def unpack(data: bytes, longest: int) -> Iterator[Any]:
    """Yield the messages in ``data`` up to the first that is cut short, too long, or no JSON.

    A message longer than ``longest`` bytes is yielded as None, and what follows it is left unread.
    """
    start = 0
    while start + HEADER.size <= len(data):
        [length] = HEADER.unpack_from(data, start)
        start += HEADER.size
        if length > longest:
            yield None
            return
        if start + length > len(data):
            return
        try:
            message = json.loads(data[start : start + length], parse_float=_refuse, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return
        yield message
        start += length


def _refuse(text: str) -> None:
    raise ValueError(f"{text} has no place in a message")
