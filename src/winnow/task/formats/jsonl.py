"""One JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path

from winnow import errors
from winnow.task.formats.signature import BOM
from winnow.task.formats.values import Parser, repeated
from winnow.task.rows import Rows


def read_jsonl(path: Path) -> Rows:
    """Read UTF-8 with or without a byte-order mark; lines end in LF or CRLF, blank ones are skipped."""
    rows = Rows(path.name, "line")
    parser = Parser()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(BOM).strip()
            if not text:
                continue
            if text.startswith(b"[") and not rows.last:
                raise errors.DataError(
                    f"{path} line {number}: read as jsonl, but it starts with '[' like one JSON list; use --format json"
                )
            _line(rows, parser, number, text, ended=line.endswith(b"\n"))
    return rows


def _line(rows: Rows, parser: Parser, number: int, line: bytes, ended: bool) -> None:
    try:
        values = parser.parse(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        rows.refuse(number, f"not UTF-8 (byte {error.start + 1})")
    except json.JSONDecodeError as error:
        rows.refuse(number, _broken(error, line, ended))
    except ValueError as error:
        rows.refuse(number, f"unreadable JSON: {error}")
    else:
        key = repeated(values) if parser.repeats else ""
        parser.repeats = False
        if key:
            rows.refuse(number, f"the key {key!r} occurs twice in one object")
        else:
            rows.add(number, values)


def _broken(error: json.JSONDecodeError, line: bytes, ended: bool) -> str:
    text = f"broken JSON: {error.msg.removesuffix(' starting at')} at column {error.colno}"
    if b"\0" in line:
        return f"{text}; the line holds NUL bytes, as a file does that was not written to its end"
    if line == b"{":
        return f"{text}; an object has to stand on one line"
    if not ended and (error.pos >= len(error.doc) or error.msg.startswith("Unterminated")):
        return f"{text}; the file ends in the middle of this row"
    return text
