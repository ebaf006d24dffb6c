import pytest

from winnow import errors
from winnow.reward.code import Code
from winnow.reward.code.extract import find_program

FENCE = "```"


def block(code, language="python"):
    return f"{FENCE}{language}\n{code}\n{FENCE}\n"


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        (block("a"), "a\n"),
        ("text\n" + block("a") + "more\n" + block("b") + "end", "b\n"),
        (block("a") + block("x", "bash"), "a\n"),
        (block("a") + block("out", ""), "a\n"),
        (block("a", "py") + block("b", "Python3"), "b\n"),
        (block("a", ""), "a\n"),
        (block("x", "bash"), None),
        (block("a") + f"{FENCE}python\nunfinished", "a\n"),
        (f"{FENCE}python\r\na\r\n{FENCE}\r\n", "a\r\n"),
        (f"  {FENCE} python\n  a\n   b\n  {FENCE}", "a\n b\n"),
        (f"````python\ns = '{FENCE}'\n{FENCE}\n````", f"s = '{FENCE}'\n{FENCE}\n"),
        ("def f(): pass", "def f(): pass"),
        (f"{FENCE}python\nunfinished", f"{FENCE}python\nunfinished"),
        (block(""), None),
        ("", None),
        (" \n", None),
    ],
)
def test_block(completion, program):
    assert find_program(completion, "block") == program


def test_last_block_takes_nothing_else():
    assert find_program("def f(): pass", "last_block") is None
    assert find_program(block("a"), "last_block") == "a\n"
    assert find_program(block("a"), "whole") == block("a")


@pytest.mark.parametrize(
    ("completion", "kept"),
    [
        ("x + 1", "x + 1"),
        ("x + 1\n\nThis adds one.", "x + 1\n"),
        ("x\n    # note\n\ndef g():\n    return 1\nprint(g())", "x\n    # note\n\ndef g():\n    return 1"),
        ("(\n  1\n)\nassert f(1)", "(\n  1\n)"),
        ("x\n@cache\nclass A: pass\nimport os\n# end\nif x: pass", "x\n@cache\nclass A: pass\nimport os\n# end"),
        ("x\ndefinitely", "x"),
    ],
)
def test_continue(completion, kept):
    assert find_program(completion, "continue", "def f(x):\n    return ") == "def f(x):\n    return " + kept


def test_unknown_extract():
    with pytest.raises(errors.ConfigError, match="unknown value of extract 'blok', did you mean 'block'"):
        Code(extract="blok", unsafe=True)
