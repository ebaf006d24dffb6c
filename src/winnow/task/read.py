"""Read a data file of any format, with the place of every broken row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from winnow import errors
from winnow.task.formats import signature
from winnow.task.formats.delimited import read_csv, read_tsv
from winnow.task.formats.json_list import read_json
from winnow.task.formats.jsonl import read_jsonl
from winnow.task.formats.tables import read_arrow, read_parquet
from winnow.task.rows import Rows

_READERS: Mapping[str, Callable[[Path], Rows]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "arrow": read_arrow,
}
FORMATS = tuple(_READERS)
SUFFIXES: Mapping[str, str] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
}


def read(path: Path, format: str | None = None) -> Rows:
    """Read all rows of a file.

    Args:
        path: the file.
        format: one of `FORMATS`; by default told by the suffix.

    Raises:
        ConfigError: for an unknown format, or a suffix that does not tell one.
        DataError: if the file is missing, empty or not in that format. Single broken rows of a text file
            are no error here: they are returned as problems.
        MissingExtra: for Parquet and Arrow without the extra ``parquet``.
    """
    return read_shards(path, path.name, [path], format)


def read_shards(path: Path, source: str, files: Sequence[Path], format: str | None = None) -> Rows:
    """Read files that together hold one split, in order; an empty one among others is no error.

    Args:
        path: where they are, for messages on the whole.
        source: what they are called together, for messages on rows.
        files: the files.
        format: as for `read`.

    Raises:
        ConfigError: as `read`.
        DataError: as `read`.
        MissingExtra: as `read`.
    """
    rows = Rows.joined(source, [_read(file, format) for file in files])
    if not rows.rows and not rows.problems:
        raise errors.DataError(f"{path}: the file holds no rows, so there is nothing to train on")
    return rows


def _read(path: Path, format: str | None) -> Rows:
    if format is None:
        format = SUFFIXES.get(path.suffix.lower())
        if format is None:
            raise errors.ConfigError(
                f"{path}: the suffix {path.suffix!r} does not tell the format; use --format with one of "
                f"{', '.join(FORMATS)}"
            )
    if format not in FORMATS:
        raise errors.unknown("data format", format, FORMATS)
    if not path.is_file():
        raise errors.DataError(f"{path}: no such file")
    signature.check(path, format)
    return _READERS[format](path)
