"""Where the result of a command goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

_results: list[TextIO] = []


def result() -> TextIO:
    """Return the stream for the JSON object of a command."""
    return _results[-1] if _results else sys.stdout


@contextmanager
def for_json() -> Iterator[None]:
    """Keep stdout for what is written to `result`; anything else that is written there goes to stderr.

    Rewards and libraries print too, some of them from C, so the file descriptor is exchanged where there is one.
    """
    stdout = _descriptor(sys.stdout)
    if stdout is None or _descriptor(sys.stderr) is None:
        with _divert(sys.stdout):
            yield
        return
    sys.stdout.flush()
    kept = os.dup(stdout)
    os.dup2(sys.stderr.fileno(), stdout)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as stream, _divert(stream):
            yield
    finally:
        os.dup2(kept, stdout)
        os.close(kept)


@contextmanager
def _divert(stream: TextIO) -> Iterator[None]:
    _results.append(stream)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _results.pop()


def _descriptor(stream: TextIO | None) -> int | None:
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None
