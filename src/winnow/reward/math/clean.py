r"""Answers as one kind of LaTeX: Unicode, delimiters, spacing and synonyms brought to a common form."""

from __future__ import annotations

import re
import unicodedata

from winnow.reward.extract import boxed
from winnow.reward.math.units import changes_value
from winnow.reward.math.vocabulary import NUMBER_WORDS

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ"
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
_RAISED = re.compile(f"[{_SUPERSCRIPTS}]+")
_LOWERED = re.compile(f"[{_SUBSCRIPTS}]+")
_FROM_RAISED = str.maketrans(_SUPERSCRIPTS, "0123456789+-n")
_FROM_LOWERED = str.maketrans(_SUBSCRIPTS, "0123456789")
_SIGNS = """
α alpha  β beta  γ gamma  δ delta  ε epsilon  ζ zeta  η eta  θ theta  ι iota  κ kappa  λ lambda  μ mu  ν nu  ξ xi
ρ rho  σ sigma  τ tau  υ upsilon  φ phi  χ chi  ψ psi  ω omega  π pi
Γ Gamma  Δ Delta  Θ Theta  Λ Lambda  Ξ Xi  Π Pi  Σ Sigma  Φ Phi  Ψ Psi  Ω Omega
× times  ✕ times  ⨯ times  · cdot  ∙ cdot  ⋅ cdot  • cdot  ÷ div  ± pm  ∓ mp  ∞ infty  √ sqrt
≤ le  ≥ ge  ⩽ le  ⩾ ge  ≠ ne  ≈ approx  ≡ equiv  ∈ in  ∪ cup  ∩ cap  ∅ emptyset  … ldots
"""
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_UNICODE = str.maketrans(
    {
        **{sign: f"\\{name} " for sign, name in re.findall(r"(\S) (\w+)", _SIGNS)},
        **dict.fromkeys("−–—‒﹣－‐‑", "-"),
        **dict.fromkeys(_SPACES, " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u2061\u2062", ""),
        **{"°": "^\\circ ", "ℝ": "\\mathbb{R}", "∛": "\\sqrt[3]", "⁄": "/", "∶": ":", "⟨": "(", "⟩": ")"},
        **{"“": '"', "”": '"', "’": "'", "‘": "'", "′": "'"},
    }
)

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{(.*)\}[.,;]*", re.DOTALL)
_STYLE = re.compile(
    r"\\(?:(?:text|page|f)?color(?:box)?|[hv]?phantom|[rlc]lap|math[rlc]lap|smash|hspace|kern|cancel|sout)(?![A-Za-z])"
)
_WHOLLY_COLORED = re.compile(
    r"\\(?:text)?color\s*\{[^{}]*\}\s*\{(.*)\}|\\color\s*\{[^{}]*\}\s*([^{\s].*)|\{(.*)\}", re.DOTALL
)
# Taking off one after the other costs the square of the text.
_MOST_STYLES = 5
_APOSTROPHES = re.compile(r"(?<=\d)['’](?=\d{3}(?!\d))")
_QUOTED = re.compile(r"^(\"|'|``)([^\"'`]*)(?:\"|''?)$")
# Nothing to clean but white space.
_PLAIN = re.compile(r"[\w\s!\"#%&'()*+,\-./:;<=>?@\[\]^`|}]*", re.ASCII)
_DELIMITED = re.compile(r"\\\((.*)\\\)|\\\[(.*)\\\]|\$\$(.*)\$\$|\$(.*)\$", re.DOTALL)
_DOLLAR = re.compile(r"(?<!\\)\$")
_TEXT = re.compile(
    r"\\(?:text(?:rm|bf|it|sf|tt|normal)?|math(?:rm|bf|it|sf)|bold|boldsymbol|mbox|hbox)(?:\s*\{|\s+(?=\w))"
)
# Bold around a formula is dropped; around words it is text like any other.
_FORMULA_IN_TEXT = re.compile(r"\\text\s*(?=\{[^{}]*\\[A-Za-z])|\\underline(?=\s*\{)|\\(?:text)?color\s*\{[^{}]*\}")
_DECORATION = re.compile(
    r"\\(?:tiny|small|normalsize|large|Large|LARGE|huge|Huge|bf|rm|it|checkmark|blacksquare|therefore|qed)(?![A-Za-z])"
)
_BRACKETS_BEHIND = re.compile(r"(?<=[\w})]) ?\\text\s*\{\s*\(([^{}]*)\)\s*\}$")
# What says which integers a letter stands for: k \in \mathbb{Z}.
_WHICH_INTEGERS = re.compile(
    r"(?:,|\\text\s*\{[^{}]*\}|\()\ ?"
    r"(?:[a-z]\ ?\\in\ ?(?:\\mathbb\ ?\{?[ZN]\}?|\\text\{[ZN]\}|[ZN])|\\text\s*\{[^{}]*integers?\b[^{}]*\})"
    r"(?:\ ?\))*$"
)
_OPERATOR = re.compile(r"\\operatorname\*?\s*\{\s*(\w+)\s*\}")
_WHOLLY_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_NO_TEXT = re.compile(r"\\text\s*\{[\s.,;]*\}")
_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|(?<!\\)\\[,;: ]|,\\!|\\!,|,\s*\\!)\s*(?=\d{3}(?!\d))")
_NOTHING = re.compile(
    r"\\!|\\(?:left|right|displaystyle|textstyle|limits|big|Big|bigg|Bigg|bigl|bigr|Bigl|Bigr)(?![A-Za-z])\.?"
)
_SPACE = re.compile(r"(?<!\\)\\[,;: \n]|~|\\(?:quad|qquad|thinspace|enspace|space|phantom\{[^{}]*\})(?![A-Za-z])|\s+")
_SYNONYMS = {
    "sfrac": "frac", "nicefrac": "frac",
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "tbinom": "binom", "dbinom": "binom",
    "leq": "le", "geq": "ge", "leqslant": "le", "geqslant": "ge", "neq": "ne", "varnothing": "emptyset",
    "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]",
    "langle": "(", "rangle": ")", "dots": "ldots", "cdots": "ldots", "vdots": "ldots", "dotsc": "ldots",
    "colon": ":", "lt": "<", "gt": ">", "degree": "^\\circ ", "to": "\\to ",
    "lor": "\\text{ or }", "vee": "\\text{ or }", "land": "\\text{ and }", "wedge": "\\text{ and }", "bullet": "cdot",
    "infin": "infty", "R": "mathbb{R}", "Reals": "mathbb{R}", "pounds": "£", "euro": "€",
}  # fmt: skip
_COMMAND = re.compile(r"\\(" + "|".join(sorted(_SYNONYMS, key=len, reverse=True)) + r")(?![A-Za-z])")


def clean(text: str) -> str:
    r"""Take off what does not change an answer and settle on one spelling; linear in the text.

    Delimiters, boxes, sizes and spacing go, ``\mathrm`` and its kin become ``\text``, synonyms and Unicode become
    plain LaTeX. The result is meant for the readers of this package, not for print.
    """
    text = _APOSTROPHES.sub(",", _QUOTED.sub(r"\2", _bare(text)))
    if _PLAIN.fullmatch(text):
        text = " ".join(text.split())
        return text if text.endswith("...") else text.removesuffix(".").rstrip()
    if not text.isascii():
        text = _from_unicode(text)
    text = _THOUSANDS.sub(",", text)
    text = _OPERATOR.sub(r"\\\1 ", text)
    text = _NOTHING.sub("", text)
    text = _SPACE.sub(" ", text)
    text = _COMMAND.sub(_synonym, text)
    text = _TEXT.sub(lambda match: "\\text{" if "{" in match[0] else "", text).strip()
    text = _FORMULA_IN_TEXT.sub("", text)
    text = _BRACKETS_BEHIND.sub(_without_remark, _DECORATION.sub("", text).strip())
    text = _WHICH_INTEGERS.sub("", text.strip())
    text = _without_end(text)
    text = _NO_TEXT.sub(" ", text).strip()
    whole = _WHOLLY_TEXT.fullmatch(text)
    text = _without_end(whole[1].strip()) if whole is not None else text
    return _DOLLAR.sub("", text).strip() if len(_DOLLAR.findall(text)) > 1 else text


def squeezed(text: str) -> str:
    r"""A cleaned text for comparison as text: no ``\text``, no white space, no braces around single characters."""
    text = _WHOLLY_TEXT.sub(r"\1", text)
    # Only between letters and digits does a space tell things apart: 7 2 is not 72.
    text = re.sub(r"(?<!\w)\s+|\s+(?!\w)", "", re.sub(r"\s+", " ", text))
    return re.sub(r"\{(\w)\}", r"\1", text)


def styled(text: str) -> bool:
    """Tell whether parts of an answer are coloured, hidden or moved: what is read need not be what is meant."""
    text = _bare(text) if "\\" in text else ""
    for _ in range(_MOST_STYLES):
        if not _STYLE.search(text):
            return False
        match = _WHOLLY_COLORED.fullmatch(text)
        inner = next((group for group in match.groups() if group is not None), None) if match else None
        if inner is None or boxed(f"\\boxed{{{inner}}}") != (inner.strip() or None):
            return True
        text = inner.strip()
    return True


def _without_remark(match: re.Match[str]) -> str:
    # "14 (fourteen)" says the number once more.
    words = [word for word in re.findall(r"[A-Za-z]+", match[1]) if word.casefold() not in NUMBER_WORDS]
    other = re.search(r"\d", match[1]) or len(match[1].strip()) == 1
    return match[0] if other or any(map(changes_value, words)) else ""


def _bare(text: str) -> str:
    text = text.strip()
    while "\\" in text or "$" in text:
        box = _BOXED.fullmatch(text)
        inner = box[1].strip() if box and boxed(text) == box[1].strip() else None
        if inner is None:
            delimited = _DELIMITED.fullmatch(text)
            inner = next((group for group in delimited.groups() if group is not None), None) if delimited else None
            if inner is None or _DOLLAR.search(inner):
                return text
        if len(inner) >= len(text):
            return text
        text = inner.strip()
    return text


def _from_unicode(text: str) -> str:
    pieces = []
    for place, character in enumerate(text):
        if unicodedata.decomposition(character).startswith("<fraction>"):
            above, _, below = unicodedata.normalize("NFKC", character).partition("⁄")
            pieces.append(f"\\frac{{{above}}}{{{below}}}")
        elif "！" <= character <= "～":
            pieces.append(unicodedata.normalize("NFKC", character))
        elif character == "√" and place + 1 < len(text) and text[place + 1] == "(":
            pieces.append("\\sqrt ")
        else:
            pieces.append(character)
    text = _RAISED.sub(lambda match: f"^{{{match[0].translate(_FROM_RAISED)}}}", "".join(pieces))
    text = _LOWERED.sub(lambda match: f"_{{{match[0].translate(_FROM_LOWERED)}}}", text)
    return text.translate(_UNICODE)


def _synonym(match: re.Match[str]) -> str:
    replacement = _SYNONYMS[match[1]]
    if replacement in ("{", "}"):
        return f"\\{replacement}"
    return f"\\{replacement}" if replacement[0].isalpha() else replacement


def _without_end(text: str) -> str:
    while text.endswith((".", ",", ";")) and not text.endswith(("..", "\\,", "\\;")):
        text = text[:-1].rstrip()
    return text
