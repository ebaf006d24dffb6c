"""docs/methods.md has every recipe as the registry has it, and says what is ours."""

import importlib.util
from pathlib import Path

import winnow
from winnow.registry import names

SCRIPT = Path(__file__).parents[2] / "scripts" / "methods_page.py"


def script():
    spec = importlib.util.spec_from_file_location("methods_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_registry_says():
    page = script().PAGE.read_text(encoding="utf-8")
    assert script().written(page) == page, "run: python scripts/methods_page.py"


def test_what_is_ours_is_told_where_something_is():
    ours = script().ours_in(script().PAGE.read_text(encoding="utf-8"))
    assert list(ours) and set(ours) == set(names())
    for name, text in ours.items():
        assert text and text != "?", f"{name}: write in docs/methods.md what is ours"
        assert text != "–" or winnow.recipe(name).about.status == "paper", name
        assert text != "–" or not script().says_ours(winnow.recipe(name)), f"{name}: its docstring says what is ours"


def test_a_dash_does_not_stand_where_a_docstring_says_ours():
    page = script().PAGE.read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("| `cppo`"))
    head = line.rstrip(" |").rpartition(" | ")[0]
    assert f"{head} | ? |" in script().written(page.replace(line, f"{head} | – |")).splitlines()
    assert not script().says_ours(winnow.recipe("grpo"))


def test_the_page_notices_a_recipe_that_is_new_or_changed():
    page = script().PAGE.read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("| `pods`"))
    for other in (page.replace(line + "\n", ""), page.replace(line, line.replace("generate n", "draw n"))):
        assert script().written(other) != other
    assert "| `pods` " in script().written(page.replace(line + "\n", "")).replace("| ? |", "")
