"""CONTRIBUTING.md, "Adding a method": its three steps, done in a copy, give a recipe that passes every test."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.methods.played import run, through_json

from winnow import Recipe, curriculum
from winnow.about import DECLARED
from winnow.curriculum import Epochs

NAME = "winnow.curriculum.prioritised"
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "new_method"
SECTION = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Adding a method")[1].split("\n## ")[0]
LINE = "from winnow.curriculum.prioritised import Prioritised\n"


@pytest.fixture
def example(monkeypatch):
    """The module of the example, as if it lay in its folder; what it makes known is forgotten afterwards."""
    spec = importlib.util.spec_from_file_location(NAME, EXAMPLE / "prioritised.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, NAME, module)
    monkeypatch.setitem(DECLARED, "prioritised", None)
    monkeypatch.setitem(curriculum.RULES, "prioritised", None)
    spec.loader.exec_module(module)
    return module


def test_its_own_tests_pass(example):
    spec = importlib.util.spec_from_file_location("test_prioritised", EXAMPLE / "test_prioritised.py")
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    found = [getattr(tests, name) for name in dir(tests) if name.startswith("test_")]
    assert len(found) == 4
    for test in found:
        test()


def test_its_recipe_goes_on_from_its_state_as_others_do(example):
    about, parts = DECLARED["prioritised"]
    recipes = [Recipe("prioritised", about=about, **parts()) for _ in range(3)]
    whole = run(recipes[0], range(6), epochs=Epochs(40, seed=0))
    epochs = Epochs(40, seed=0)
    before = run(recipes[1], range(3), epochs=epochs)
    recipes[2].load_state_dict(through_json(recipes[1].state_dict()))
    assert before + run(recipes[2], range(3, 6), epochs=epochs) == whole


@pytest.mark.slow
def test_the_steps_of_the_guide_are_all_it_takes(tmp_path):
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in ("src", "tests/methods", "tests/curriculum", "tests/train"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    for file in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    shutil.copytree(ROOT / "tests/cases", tmp_path / "tests/cases")
    shutil.copy(EXAMPLE / "prioritised.py", tmp_path / "src/winnow/curriculum")
    shutil.copy(EXAMPLE / "test_prioritised.py", tmp_path / "tests/curriculum")
    init = tmp_path / "src/winnow/curriculum/__init__.py"
    before, after = init.read_text().split("from winnow.curriculum.recycle")
    init.write_text(f"{before}{LINE}from winnow.curriculum.recycle{after}")

    tests = ["tests/curriculum/test_prioritised.py", "tests/methods", "-k", "prioritised and not twenty"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= 14 and "failed" not in done.stdout


def test_the_guide_shows_the_line_and_keeps_to_the_size():
    assert LINE in SECTION and "examples/new_method/prioritised.py" in SECTION
    text = (EXAMPLE / "prioritised.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 85
    for block in re.findall(r"```python\n(.*?)```", SECTION, re.S):
        shown = [line.strip() for line in block.splitlines() if line.strip()]
        assert all(line in text or line + "\n" == LINE for line in shown), block
