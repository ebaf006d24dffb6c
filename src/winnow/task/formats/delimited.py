"""Comma- and tab-separated values, as RFC 4180 has them: a header, and quotes around what needs them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from winnow import errors
from winnow.task.rows import Rows

LONGEST = 1 << 26
"""Characters of the longest field; a quote that is never closed ends there."""
_HEADER = 1 << 16

_SURROGATE = re.compile("[\udc80-\udcff]")
_limit = Lock()


def read_csv(path: Path) -> Rows:
    """Read comma-separated values; a header that only ``;`` or tabs divide is read by these."""
    return _read(path, ",;\t")


def read_tsv(path: Path) -> Rows:
    """Read tab-separated values."""
    return _read(path, "\t")


def _read(path: Path, delimiters: str) -> Rows:
    rows = Rows(path.name, "line")
    delimiter = _delimiter(path, delimiters)
    if delimiter != delimiters[0]:
        rows.notes.append(f"{path.name}: columns divided by {delimiter!r}")
    header: list[str] = []
    with _long_fields():
        for number, fields in _records(path, delimiter):
            if isinstance(fields, str) and not header:
                raise errors.DataError(f"{path} line {number}: the header cannot be read: {fields}")
            if isinstance(fields, str):
                rows.refuse(number, fields)
            elif not header:
                header = _header(path, number, fields, rows)
            elif any(fields):
                _add(rows, number, header, fields)
    return rows


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the first line of each record and its fields, or what is wrong with it."""
    # Bytes that are not UTF-8 become surrogates, so that one bad row does not lose the others.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        while True:
            number = reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield number, _broken(str(error))
                continue
            if fields:
                yield number, fields


def _broken(message: str) -> str:
    if message.startswith("unexpected end"):
        return "broken CSV: a quote that opens in this record is never closed, and the rest of the file is in it"
    if "field larger" in message:
        return f"broken CSV: a field of more than {LONGEST} characters; is a quote missing?"
    return f"broken CSV: {message} (a quote inside a quoted field is written twice)"


def _header(path: Path, number: int, fields: Sequence[str], rows: Rows) -> list[str]:
    names = [name.strip() for name in fields]
    for name in names:
        if name and names.count(name) > 1:
            first, second = [place for place, other in enumerate(names, start=1) if other == name][:2]
            raise errors.DataError(
                f"{path} line {number}: the columns {first} and {second} are both called {name!r}; rename one"
            )
        if _undecoded(name):
            raise errors.DataError(f"{path} line {number}: the header is not UTF-8")
    nameless = [str(place) for place, name in enumerate(names, start=1) if not name]
    if nameless:
        rows.notes.append(f"{path.name}: columns without a name are left out: {', '.join(nameless)}")
    return names


def _add(rows: Rows, number: int, header: Sequence[str], fields: Sequence[str]) -> None:
    if len(fields) != len(header):
        found = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
        rows.refuse(
            number,
            f"{found} where the header has {len(header)}; a field with a delimiter or a line break in it needs quotes",
        )
    elif _undecoded("".join(fields)):
        rows.refuse(number, "not UTF-8")
    else:
        rows.add(number, {name: value for name, value in zip(header, fields, strict=True) if name})


def _undecoded(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def _delimiter(path: Path, delimiters: str) -> str:
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        header = "\n"
        while header and not header.strip():
            header = file.readline(_HEADER)
    return next((delimiter for delimiter in delimiters if delimiter in header), delimiters[0])


@contextmanager
def _long_fields() -> Iterator[None]:
    # The limit belongs to the whole process; it is put back, and two readers do not change it at once.
    with _limit:
        before = csv.field_size_limit(LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)
