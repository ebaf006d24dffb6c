"""Find the program in a completion."""

from __future__ import annotations

import re
import textwrap

# A fence opens with three or more backticks and an optional language, and closes with as many alone on a line.
_BLOCK = re.compile(r"^[ \t]*(`{3,})[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*\r?$", re.MULTILINE | re.DOTALL)
_LANGUAGES = ("python", "py", "python3")
_GOES_ON = re.compile(r"(?:def|class|import|from|async)\b|[@#)\]}]|$")

EXTRACTORS = ("block", "last_block", "whole", "continue")


def find_program(completion: str, extract: str, prefix: str = "") -> str | None:
    """Return the program of a completion, or None if there is none.

    Args:
        completion: the sampled text.
        extract: ``block`` takes the last closed block fenced as Python, else the last closed block without a
            language, else, where there is no block at all, the whole completion; ``last_block`` does the same but
            finds nothing without a block; ``whole`` takes all; ``continue`` puts ``prefix`` before the completion
            and ends at the first line, not indented, that is neither a definition, an import nor a comment.
        prefix: what the completion continues.
    """
    if extract == "continue":
        return prefix + _until_it_stops(completion)
    if extract == "whole":
        return completion if completion.strip() else None
    blocks = [(match[2].lower(), textwrap.dedent(match[3])) for match in _BLOCK.finditer(completion)]
    named = [code for language, code in blocks if language in _LANGUAGES]
    found = named or [code for language, code in blocks if not language]
    if found:
        return found[-1] if found[-1].strip() else None
    return completion if extract == "block" and completion.strip() and not blocks else None


def _until_it_stops(completion: str) -> str:
    first, *rest = completion.split("\n")
    lines = [first]
    for line in rest:
        if line[:1] not in ("", " ", "\t") and not _GOES_ON.match(line):
            break
        lines.append(line)
    return "\n".join(lines)
