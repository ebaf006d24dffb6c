"""Look at model text before a scorer that evaluates it does.

Some scorers of reasoning-gym hand the answer to ``eval`` or to sympy's parser, which is ``eval`` with other
names in scope. A sampled answer is untrusted text: it may call a function, or ask for ``9**9**9``. For these
families only text that cannot do either gets through; anything else is a wrong answer.
"""

from __future__ import annotations

import re

_LITERAL = re.compile(r"[\w\s,'\"\[\]-]*")
_SUM = re.compile(r"[\d\s+\-*/().]*")
_FORMULA = re.compile(r"[\w\s+\-*/^().]*")

_FUNCTIONS = re.compile(r"a?(sin|cos|tan)h?|sec|csc|cot|exp|log|ln|sqrt|[Aa]bs|pi")
_NAME = re.compile(r"[^\W\d]\w*")
_ATTRIBUTE = re.compile(r"\.\s*[^\W\d]")
_POWER = re.compile(r"\*\*|\^")
_SMALL_POWER = re.compile(r"(?:\*\*|\^)\s*(?:\d{1,2}(?![\d.])|\(\s*-?\d{1,2}(?:/\d{1,2})?\s*\))(?!\s*(?:\*\*|\^))")
_LONGEST = 400

EVALUATES = {
    "binary_matrix": "literal",
    "n_queens": "literal",
    "spiral_matrix": "literal",
    "string_insertion": "literal",
    "countdown": "sum",
    "puzzle24": "sum",
    "intermediate_integration": "formula",
    "polynomial_multiplication": "formula",
    "simple_integration": "formula",
}
"""The families whose scorers evaluate the answer, and what an answer is there."""


def refuse(family: str, answer: str) -> str:
    """Say why ``answer`` must not reach the scorer of ``family``; an empty string if it may.

    Args:
        family: name of the reasoning-gym family.
        answer: the completion.
    """
    kind = EVALUATES.get(family)
    if kind is None:
        return ""
    if len(answer) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    if kind == "literal":
        return "" if _LITERAL.fullmatch(answer) else "not a list of plain values"
    if kind == "sum":
        return "" if _SUM.fullmatch(answer) and "**" not in answer else "not an expression in + - * / and numbers"
    return _refuse_formula(answer)


def _refuse_formula(answer: str) -> str:
    if not _FORMULA.fullmatch(answer) or "__" in answer or _ATTRIBUTE.search(answer):
        return "not a formula"
    for name in _NAME.findall(answer):
        if len(name) > 1 and not _FUNCTIONS.fullmatch(name):
            return f"not a formula: {name!r} is not a known function"
    if len(_POWER.findall(answer)) != len(_SMALL_POWER.findall(answer)) or answer.count(")**") > 2:
        return "not a formula with small powers"
    return ""
