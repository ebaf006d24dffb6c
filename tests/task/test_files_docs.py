"""The examples of docs/data.md run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from winnow.task.columns import _LAYOUTS
from winnow.task.read import FORMATS, SUFFIXES

DOCS = Path(__file__).parents[2] / "docs" / "data.md"


@pytest.mark.slow
def test_examples_run(tmp_path):
    script = "\n".join(re.findall(r"```sh\n(.*?)```", DOCS.read_text(), re.DOTALL))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code 2" in done.stdout and done.stdout.count("Nothing found that would stop a run.") == 4


def test_formats_and_columns_are_all_named():
    text = DOCS.read_text()
    for name in (*FORMATS, *SUFFIXES, *(part for parts, gold in _LAYOUTS for part in (*parts, gold))):
        assert f"`{name}`" in text, name
