"""The filtered file: the rows of the prompts worth keeping, as they were."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from winnow.errors import ConfigError, DataError
from winnow.rollout import Prompt
from winnow.train.disk import writing

_BOM = b"\xef\xbb\xbf"
_LINES = (".jsonl", ".ndjson")


def check_target(target: Path, source: Path | None) -> None:
    """Refuse a target that cannot be written, before anything is measured.

    Raises:
        ConfigError: it is the data file itself, a folder, or not JSONL by its name.
    """
    if target.suffix.lower() not in _LINES:
        raise ConfigError(f"--keep {target}: the rows are written as JSON lines, name a .jsonl file")
    if target.is_dir():
        raise ConfigError(f"--keep {target} is a folder: name a .jsonl file in it")
    if source is not None and target.exists() and source.exists() and target.samefile(source):
        raise ConfigError(f"--keep {target} is the data file itself, which is never changed; name another file")


def write_kept(target: Path, prompts: Sequence[Prompt], source: Path | None) -> None:
    """Write the rows of ``prompts`` in their order, in one go: a reader sees the old file or the new one.

    Rows of a JSONL file are copied byte for byte; rows of other files are written as JSON with all their columns
    (decimals of more digits than a float holds lose the rest there).
    Prompts of a task that is no file become ``id``, ``prompt``, ``answer`` and their other fields.

    Args:
        target: the file.
        prompts: what to keep, with ids such as ``train:17`` for line or row 17 of the source, in ascending order.
        source: the data file or folder, or None.

    Raises:
        DataError: a column holds what JSON cannot.
        DiskStop: the disk is full or cannot be written; an older file is as it was.
    """
    partial = target.with_name(f"{target.name}.partial")
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                for row in _rows(prompts, source):
                    file.write(row + b"\n")
            os.replace(partial, target)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


def _rows(prompts: Sequence[Prompt], source: Path | None) -> Iterator[bytes]:
    if source is None:
        for prompt in prompts:
            yield _dump({"id": prompt.id, "prompt": prompt.content, "answer": prompt.answer, **_others(prompt)})
        return
    copied = _copied(prompts, source)
    for prompt in prompts:
        yield copied[prompt.id] if prompt.id in copied else _dump(prompt.fields)


def _others(prompt: Prompt) -> dict[str, Any]:
    return {name: value for name, value in prompt.fields.items() if name not in ("id", "prompt", "answer")}


def _copied(prompts: Sequence[Prompt], source: Path) -> dict[str, bytes]:
    """Find the lines of the prompts in a JSONL file; a line that does not read as the row is not taken."""
    wanted = {prompt.id.rpartition(":")[2]: prompt for prompt in prompts}
    found: dict[str, bytes] = {}
    if source.suffix.lower() not in _LINES or not source.is_file():
        return found
    with source.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if (prompt := wanted.get(str(number))) is None:
                continue
            line = line.removeprefix(_BOM).strip()
            with suppress(ValueError):
                if json.loads(line) == prompt.fields:
                    found[prompt.id] = line
    return found


def _dump(row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(dict(row), ensure_ascii=False, default=_plain).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise DataError(f"a row cannot be written as JSON: {error}; leave the column out of the data") from None


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")
