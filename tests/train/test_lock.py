from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.train.conftest import Notes, make_policy, make_task
from winnow.errors import ConfigError
from winnow.train import Trainer
from winnow.train.folder import new_folder
from winnow.train.lock import locked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no lock there")

HOLDER = """
import sys, time
from pathlib import Path
from winnow.train.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def run(config, **how):
    return Trainer(config, progress=Notes(), task=make_task(), policy=make_policy()).run(**how)


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_in_use_is_refused(settings, tmp_path, resume):
    if resume:
        run(settings(steps=2))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with locked(tmp_path / "run"), pytest.raises(ConfigError) as caught:
        run(settings(steps=4), resume=resume)
    assert str(tmp_path / "run") in str(caught.value) and "in use" in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_lock_of_a_killed_process_is_gone(settings, tmp_path):
    run(settings(steps=2))
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": "src"},
        cwd=Path(__file__).parents[2],
    )
    with child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError, match="in use"):
            run(settings(steps=4), resume=True)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    assert (tmp_path / "run" / ".lock").exists()
    assert run(settings(steps=4), resume=True)["steps"] == 4
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_run_refused_before_its_start_leaves_nothing(settings, tmp_path):
    with pytest.raises(ConfigError):
        run(settings(recipe="nothing"))
    assert list(tmp_path.iterdir()) == []


def test_two_unnamed_runs_get_two_folders(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with new_folder(settings(out=None)) as first, new_folder(settings(out=None)) as second:
        assert [first.name, second.name] == ["mix-grpo-seed0", "mix-grpo-seed0-2"]


@pytest.mark.parametrize("out", [".", "./"])
def test_the_current_folder_is_no_run_folder(settings, out):
    with pytest.raises(ConfigError, match="current folder"):
        run(settings(out=out))
