"""What the first bytes of a file tell about it, whatever its name says."""

from __future__ import annotations

import codecs
from pathlib import Path

from winnow import errors

BOM = codecs.BOM_UTF8
PARQUET = b"PAR1"
ARROW = b"ARROW1"
HEAD = 64
"""How many bytes `check` wants to see."""

_PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"\xfd7zXZ\x00", "xz", "unxz"),
    (b"PK\x03\x04", "zip", "unzip"),
)
# UTF-32 little-endian starts with the mark of UTF-16 little-endian.
_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_POINTER = b"version https://git-lfs.github.com/spec/"


def check(path: Path, format: str) -> bytes:
    """Refuse a file that is plainly of another format than the one it is read as.

    Returns:
        Its first bytes, at most `HEAD`.

    Raises:
        DataError: if it is compressed, not in UTF-8, a Git LFS pointer, or Parquet or Arrow read as
            something else; the message says what to do.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    found = _what(head, format)
    if found:
        raise errors.DataError(f"{path}: read as {format}, but it is {found}")
    return head


def _what(head: bytes, format: str) -> str:
    if head.startswith(PARQUET) and format != "parquet":
        return "a Parquet file; use --format parquet"
    if head.startswith(ARROW) and format != "arrow":
        return "an Arrow file; use --format arrow"
    if head.startswith(_POINTER):
        return "a Git LFS pointer, which stands for data that was not downloaded; run git lfs pull"
    for magic, name, command in _PACKED:
        if head.startswith(magic):
            return f"compressed with {name}; unpack it first ({command})"
    return "" if format in ("parquet", "arrow") else _wide(head)


def _wide(head: bytes) -> str:
    name = next((name for mark, name in _WIDE if head.startswith(mark)), "")
    # A text that starts with an ASCII character has a zero beside it in UTF-16.
    if not name and len(head) >= 4 and (head[:4:2] == b"\0\0" or head[1:4:2] == b"\0\0") and any(head[:4]):
        name = "UTF-16"
    return f"text in {name}; save it as UTF-8 (iconv -f {name} -t UTF-8)" if name else ""
