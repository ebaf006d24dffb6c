r"""Where an answer comes apart: at commas, at ``and`` and ``or``, at relation signs, outside of all brackets."""

from __future__ import annotations

import re

_OPENING, _CLOSING = "([{", ")]}"
_BRACKET = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_JOINING = re.compile(
    r"\\text\s*\{\s*,?\s*(?P<text>and|or)\s*,?\s*\}|(?<![A-Za-z\\])(?P<plain>and|or)(?![A-Za-z])|(?P<amp>\\&)"
)
_RELATION = re.compile(r"\\(?:le|ge|ne|in|approx|equiv|subset|to)(?![A-Za-z])|<=|>=|!=|<|>|=")
_TIGHT_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")


def depths(text: str) -> list[int]:
    """How deep in brackets each character stands; an escaped brace counts as a brace."""
    found, depth = [], 0
    for character in text:
        if character in _CLOSING:
            depth -= 1
        found.append(depth)
        if character in _OPENING:
            depth += 1
    return found


def brackets(text: str) -> tuple[str, str] | None:
    r"""The outer brackets of a text and what they hold, or None.

    The brackets come as two characters: ``()``, ``[]``, ``(]``, ``[)``, ``{}`` for ``\{ \}``, and ``][`` and its
    kin (``]1, 2[``) as the open ends they mean.
    """
    unescaped = text.replace("\\{", "{").replace("\\}", "}")
    if unescaped.startswith("{") and unescaped.endswith("}") and _one_group(unescaped):
        escaped = text.startswith("\\{")
        inner = text[2:-2] if escaped else text[1:-1]
        # Braces alone group; around a list they are a set whose backslashes were forgotten.
        return ("{}", inner.strip()) if escaped or len(commas(inner, inside=True)) > 1 else None
    if len(text) < 2 or text[0] not in "([]" or text[-1] not in ")][":
        return None
    opening = "[" if text[0] == "[" else "("
    closing = "]" if text[-1] == "]" else ")"
    if not _one_group("(" + text[1:-1] + ")"):
        return None
    return opening + closing, text[1:-1].strip()


def _one_group(text: str) -> bool:
    depth = 0
    for place, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0:
            return place == len(text) - 1
    return False


def commas(text: str, inside: bool = False) -> list[str]:
    """Cut a text at its outer commas and semicolons.

    ``1,000`` is one number where it has the only commas or where the others are followed by a space. With
    ``inside`` (of brackets) only the latter counts: ``(1,000)`` is a pair.
    """
    spaced = ", " in text or ";" in text
    thousands = {m.start() + p for m in _TIGHT_THOUSANDS.finditer(text) for p, c in enumerate(m[0]) if c == ","}
    outer = [
        place
        for place, (character, depth) in enumerate(zip(text, depths(text), strict=True))
        if depth == 0 and character in ",;"
    ]
    if not inside and thousands.issuperset(outer):
        return [text]
    cuts = [place for place in outer if not (spaced and place in thousands)]
    pieces = [text[a + 1 : b].strip() for a, b in zip([-1, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in pieces if piece] if len(pieces) > 1 else pieces


def joined(text: str) -> tuple[str, list[str]]:
    """Cut a text at its outer ``and`` or ``or``.

    Returns:
        The word (``and`` if both occur, empty if neither) and the pieces.
    """
    depth = depths(text)
    cuts = [m for m in _JOINING.finditer(text) if depth[m.start()] == 0]
    if not cuts:
        return "", [text]
    pieces, start = [], 0
    for match in cuts:
        pieces.append(text[start : match.start()].strip(" ,"))
        start = match.end()
    pieces.append(text[start:].strip(" ,"))
    words = {(match["text"] or match["plain"] or "and") for match in cuts}
    return ("or" if words == {"or"} else "and"), [piece for piece in pieces if piece]


def relations(text: str) -> tuple[list[str], list[str]]:
    r"""Cut a text at its outer relation signs.

    Returns:
        The sides, one more than the signs, and the signs (``=``, ``<``, ``>``, ``\\le``, ``\\ge``, ``\\ne``, ...).
    """
    depth = depths(text)
    sides, signs, start = [], [], 0
    for match in _RELATION.finditer(text):
        if depth[match.start()] == 0:
            sides.append(text[start : match.start()].strip())
            signs.append({"<=": "\\le", ">=": "\\ge", "!=": "\\ne"}.get(match[0], match[0]))
            start = match.end()
    sides.append(text[start:].strip())
    return sides, signs


def cut(text: str, command: str) -> list[str]:
    """Cut a text at a command outside of brackets."""
    depth = depths(text)
    cuts = [m for m in re.finditer(re.escape(command) + r"(?![A-Za-z])", text) if depth[m.start()] == 0]
    ends = [*(m.start() for m in cuts), len(text)]
    return [text[a:b].strip() for a, b in zip([0, *(m.end() for m in cuts)], ends, strict=True)]
