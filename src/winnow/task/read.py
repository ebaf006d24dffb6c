"""Read JSONL, JSON and Parquet files, with line numbers in every complaint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from winnow import errors
from winnow.task.rows import Problem, Row, Rows

FORMATS = ("jsonl", "json", "parquet")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}
_PARQUET_MAGIC = b"PAR1"
_BOM = b"\xef\xbb\xbf"


def read(path: Path, format: str | None = None) -> Rows:
    """Read all rows of a file.

    Args:
        path: the file.
        format: one of `FORMATS`; by default told by the suffix.

    Raises:
        ConfigError: for an unknown format, or a suffix that does not tell one.
        DataError: if the file is missing, empty or not in that format. Single broken lines of a JSONL
            file are no error here: they are returned as problems.
        MissingExtra: for Parquet without the extra ``parquet``.
    """
    if format is None:
        format = _SUFFIXES.get(path.suffix.lower())
        if format is None:
            raise errors.ConfigError(
                f"{path}: the suffix {path.suffix!r} does not tell the format; use --format with one of "
                f"{', '.join(FORMATS)}"
            )
    if format not in FORMATS:
        raise errors.unknown("data format", format, FORMATS)
    if not path.is_file():
        raise errors.DataError(f"{path}: no such file")
    rows = _READERS[format](path)
    if not rows.rows and not rows.problems:
        raise errors.DataError(f"{path}: the file holds no rows, so there is nothing to train on")
    return rows


def read_jsonl(path: Path) -> Rows:
    """One JSON object per line, in UTF-8 with or without a byte-order mark; blank lines are skipped."""
    content = path.read_bytes()
    if content.startswith(_PARQUET_MAGIC):
        raise errors.DataError(f"{path}: read as jsonl, but it is a Parquet file; use --format parquet")
    rows = Rows(path.name, "line")
    for number, line in enumerate(content.removeprefix(_BOM).split(b"\n"), start=1):
        if not line.strip():
            continue
        if not rows.rows and not rows.problems and line.lstrip().startswith(b"["):
            raise errors.DataError(
                f"{path} line {number}: read as jsonl, but it starts with '[' like one JSON list; use --format json"
            )
        try:
            values = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            rows.problems.append(Problem(number, f"not UTF-8 (byte {error.start + 1})"))
        except json.JSONDecodeError as error:
            rows.problems.append(Problem(number, f"broken JSON: {error.msg} at column {error.colno}"))
        except (RecursionError, ValueError) as error:
            rows.problems.append(Problem(number, f"unreadable JSON: {error}"))
        else:
            _append(rows, number, values)
    return rows


def read_json(path: Path) -> Rows:
    """One JSON list of objects, or an object with exactly one list of objects in it."""
    content = path.read_bytes()
    if content.startswith(_PARQUET_MAGIC):
        raise errors.DataError(f"{path}: read as json, but it is a Parquet file; use --format parquet")
    if not content.removeprefix(_BOM).strip():
        return Rows(path.name, "row")
    try:
        document = json.loads(content.removeprefix(_BOM).decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise errors.DataError(f"{path} line {line}: not UTF-8") from error
    except json.JSONDecodeError as error:
        hint = "; one object per line needs --format jsonl" if error.msg == "Extra data" else ""
        raise errors.DataError(f"{path} line {error.lineno}: broken JSON: {error.msg}{hint}") from error
    except (RecursionError, ValueError) as error:
        raise errors.DataError(f"{path}: unreadable JSON: {error}") from error
    rows = Rows(path.name, "row")
    for number, values in enumerate(_records(path, document), start=1):
        _append(rows, number, values)
    return rows


def read_parquet(path: Path) -> Rows:
    """A Parquet file, all columns."""
    with path.open("rb") as file:
        first = file.read(4)
    if first != _PARQUET_MAGIC:
        if not first:
            return Rows(path.name, "row")
        format = "json" if first.lstrip().startswith(b"[") else "jsonl"
        raise errors.DataError(
            f"{path}: not a Parquet file (first bytes {first!r}, expected {_PARQUET_MAGIC!r}); "
            f"use --format {format} if it is JSON"
        )
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise errors.MissingExtra(f"{path}: reading Parquet needs pyarrow: pip install 'winnow-rl[parquet]'") from error
    try:
        records = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise errors.DataError(f"{path}: damaged Parquet file: {error}") from error
    rows = Rows(path.name, "row")
    for number, values in enumerate(records, start=1):
        _append(rows, number, values)
    return rows


_READERS: Mapping[str, Callable[[Path], Rows]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "parquet": read_parquet,
}


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


def _append(rows: Rows, number: int, values: Any) -> None:
    if isinstance(values, dict):
        rows.rows.append(Row(number, values))
    else:
        rows.problems.append(Problem(number, f"expected an object with named columns, found {_kind(values)}"))


def _kind(value: Any) -> str:
    names = {
        type(None): "null",
        bool: "a boolean",
        str: "a string",
        list: "a list",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), type(value).__name__)
