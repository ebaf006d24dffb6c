"""Checkpoints that lost a file or hold junk: refused by name, with the way back."""

from __future__ import annotations

import shutil

import pytest

from tests.train.conftest import Notes, make_policy, make_settings, make_task
from winnow.errors import ResumeError
from winnow.train import Trainer
from winnow.train.checkpoint import Checkpoints

FILES = ("state.json", "optimiser.pt", "generators.pt", "model/model.safetensors")


def run(config, **how):
    return Trainer(config, progress=Notes(), task=make_task(), policy=make_policy()).run(**how)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(make_settings(folder, eval_prompts=0))
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def damage(path, how):
    if how == "missing":
        path.unlink()
    else:
        content = {"junk": b"junk", "empty": b"", "cut": path.read_bytes()[: path.stat().st_size // 2]}
        path.write_bytes(content.get(how, how.encode()))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["junk", "empty", "cut", "missing"])
def test_a_damaged_file_is_named_and_the_run_goes_on_from_the_checkpoint_before(folder, name, how):
    before, last = Checkpoints(folder / "checkpoints", keep=9).all()
    damage(last / name, how)
    config = make_settings(folder, steps=6, eval_prompts=0)
    with pytest.raises(ResumeError) as caught:
        run(config, resume=True)
    assert str(last / name) in str(caught.value) and str(before) in str(caught.value)
    assert caught.value.exit_code == 2
    shutil.rmtree(last)
    assert run(config, resume=True)["steps"] == 6


@pytest.mark.parametrize("text", ["{}", "[]", '{"identity": {}}'])
def test_a_state_that_is_not_one_is_refused(folder, text):
    before, last = Checkpoints(folder / "checkpoints", keep=9).all()
    shutil.rmtree(before)
    damage(last / "state.json", text)
    with pytest.raises(ResumeError, match=r"state\.json is damaged.*No earlier checkpoint"):
        run(make_settings(folder, steps=6, eval_prompts=0), resume=True)


def test_junk_generators_are_refused_when_they_can_be_read(folder):
    import torch

    last = Checkpoints(folder / "checkpoints", keep=9).all()[-1]
    torch.save({"torch": 3}, last / "generators.pt")
    with pytest.raises(ResumeError, match=r"generators\.pt is damaged"):
        run(make_settings(folder, steps=6, eval_prompts=0), resume=True)


def test_stray_folders_are_no_checkpoints(folder):
    checkpoints = Checkpoints(folder / "checkpoints", keep=9)
    before = checkpoints.all()
    for name in ("step-foo", "step-", "step-000009-old"):
        shutil.copytree(before[-1], folder / "checkpoints" / name)
    shutil.copytree(before[-1], folder / "checkpoints" / "step-1000000")
    assert checkpoints.all() == [*before, folder / "checkpoints" / "step-1000000"]


def test_an_allowed_change_at_the_limit_can_be_resumed_again(folder):
    config = make_settings(folder, eval_prompts=0, n=6)
    run(config, resume=True, allow_change=["n"])
    assert run(make_settings(folder, eval_prompts=0, n=6, steps=6), resume=True)["steps"] == 6
