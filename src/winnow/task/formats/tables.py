"""Parquet and Arrow files, through pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from winnow import errors
from winnow.task.formats.signature import ARROW, HEAD, PARQUET
from winnow.task.rows import Rows

_STREAM = b"\xff\xff\xff\xff"
_FEWEST = 100_000
"""So many rows are believed of any file, however small."""


def read_parquet(path: Path) -> Rows:
    """Read a Parquet file, all columns."""
    first = _head(path)[:4]
    if first != PARQUET:
        if not first:
            return Rows(path.name, "row")
        format = "json" if first.lstrip().startswith(b"[") else "jsonl"
        raise errors.DataError(
            f"{path}: not a Parquet file (first bytes {first!r}, expected {PARQUET!r}); "
            f"use --format {format} if it is JSON"
        )
    return _read(path, "Parquet", _parquet)


def read_arrow(path: Path) -> Rows:
    """Read an Arrow file: the stream that ``datasets`` writes, or the format with a footer."""
    first = _head(path)
    if not first:
        return Rows(path.name, "row")
    if first.startswith(ARROW):
        return _read(path, "Arrow", _footed)
    if first.startswith(_STREAM):
        return _read(path, "Arrow", _stream)
    raise errors.DataError(f"{path}: not an Arrow file (first bytes {first[:6]!r}, expected {ARROW!r} or {_STREAM!r})")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _read(path: Path, name: str, tables: Callable[[Any, Path], Any]) -> Rows:
    try:
        import pyarrow.ipc
    except ImportError as error:
        raise errors.MissingExtra(f"{path}: reading {name} needs pyarrow: pip install 'winnow-rl[parquet]'") from error
    rows = Rows(path.name, "row")
    damage = (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError, NotImplementedError)
    try:
        table = tables(pyarrow, path)
        _check(path, table)
        # Offsets of a damaged file may point anywhere, which only this looks at.
        table.validate(full=True)
    except damage as error:
        if isinstance(error, errors.WinnowError):
            raise
        raise errors.DataError(f"{path}: damaged {name} file: {_first_line(error)}") from error
    columns = {}
    for column in table.column_names:
        try:
            columns[column] = table.column(column).to_pylist()
        except damage as error:
            # Such as a date beyond the year 9999: sound in the file, but no value in Python.
            rows.notes.append(f"{path.name}: column {column} is left out, it cannot be read: {_first_line(error)}")
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        rows.add(number, dict(zip(columns, values, strict=True)))
    return rows


def _parquet(pyarrow: Any, path: Path) -> Any:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        _check_rows(path, file.metadata.num_rows)
        return file.read(use_threads=False)


def _footed(pyarrow: Any, path: Path) -> Any:
    reader = pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))
    batches = [_checked(path, reader.get_batch(index)) for index in range(reader.num_record_batches)]
    return pyarrow.Table.from_batches(batches, reader.schema)


def _stream(pyarrow: Any, path: Path) -> Any:
    reader = pyarrow.ipc.open_stream(pyarrow.memory_map(str(path)))
    return pyarrow.Table.from_batches([_checked(path, batch) for batch in reader], reader.schema)


def _checked(path: Path, batch: Any) -> Any:
    _check_rows(path, batch.num_rows)
    return batch


def _check(path: Path, table: Any) -> None:
    _check_rows(path, table.num_rows)
    names = table.column_names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise errors.DataError(f"{path}: two columns are called {twice!r}; rename one")


def _check_rows(path: Path, count: int) -> None:
    # Constant columns compress to nothing, so a few damaged bytes may claim more rows than memory holds.
    size = path.stat().st_size
    if count > max(size, _FEWEST):
        raise errors.DataError(f"{path}: claims {count} rows in {size} bytes, so it is damaged")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
