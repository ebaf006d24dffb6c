"""One JSON document with a list of objects in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from winnow import errors
from winnow.task.formats.signature import BOM
from winnow.task.formats.values import Parser, repeated
from winnow.task.rows import Rows


def read_json(path: Path) -> Rows:
    """Read a list of objects, or an object with exactly one list of objects in it."""
    content = path.read_bytes().removeprefix(BOM)
    rows = Rows(path.name, "row")
    if not content.strip():
        return rows
    parser = Parser()
    try:
        document = parser.parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise errors.DataError(f"{path} line {line}: not UTF-8") from error
    except json.JSONDecodeError as error:
        hint = "; one object per line needs --format jsonl" if error.msg == "Extra data" else ""
        raise errors.DataError(f"{path} line {error.lineno}: broken JSON: {error.msg}{hint}") from error
    except ValueError as error:
        raise errors.DataError(f"{path}: unreadable JSON: {error}") from error
    for number, values in enumerate(_records(path, document), start=1):
        key = repeated(values) if parser.repeats else ""
        if key:
            rows.refuse(number, f"the key {key!r} occurs twice in one object")
        else:
            rows.add(number, values)
    return rows


def _records(path: Path, document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        lists = [key for key, value in document.items() if isinstance(value, list)]
        if len(lists) == 1:
            found: list[Any] = document[lists[0]]
            return found
        what = f"an object with {len(lists)} lists ({', '.join(lists) or 'none'})"
    else:
        what = type(document).__name__
    raise errors.DataError(f"{path}: expected a list of rows, or an object with one list in it; found {what}")
