from __future__ import annotations

import errno
import json

import numpy as np
import pytest

from winnow.errors import ResumeError, SafetyStop
from winnow.train.checkpoint import Checkpoints, read_state


def write(text):
    return lambda folder: (folder / "weights").write_text(text)


def test_state_comes_back_equal(tmp_path):
    state = {
        "array": np.linspace(0, 1, 7).reshape(7, 1),
        "integers": np.array([2**62, -1]),
        "empty": np.zeros((0, 3)),
        "nested": [{"big": 2**120, "nan": float("nan")}],
        "scalar": np.int64(3),
    }
    path = Checkpoints(tmp_path, keep=1).save(12, write("w"), state)
    assert path.name == "step-000012" and (path / "weights").read_text() == "w"
    loaded = read_state(path)
    for name in ("array", "integers", "empty"):
        assert np.array_equal(loaded[name], state[name]) and loaded[name].dtype == state[name].dtype
        assert loaded[name].shape == state[name].shape
    assert loaded["nested"][0]["big"] == 2**120 and np.isnan(loaded["nested"][0]["nan"])
    assert loaded["scalar"] == 3


def test_only_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (1, 2, 10):
        checkpoints.save(step, write(str(step)), {})
    assert [path.name for path in checkpoints.all()] == ["step-000002", "step-000010"]
    assert checkpoints.latest() == tmp_path / "step-000010"


def test_saving_a_step_again_replaces_it(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    checkpoints.save(1, write("old"), {"v": 1})
    path = checkpoints.save(1, write("new"), {"v": 2})
    assert (path / "weights").read_text() == "new" and read_state(path) == {"v": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-000001"]


def test_a_full_disk_stops_the_run_and_leaves_the_last_good_one(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    good = checkpoints.save(1, write("good"), {"v": 1})

    def full(folder):
        (folder / "weights").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(SafetyStop) as caught:
        checkpoints.save(2, full, {"v": 2})
    assert "disk full" in str(caught.value) and str(good) in str(caught.value)
    assert caught.value.exit_code == 3
    assert checkpoints.latest() == good and (good / "weights").read_text() == "good"
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-000001"]


def test_a_half_written_one_is_never_chosen_and_is_swept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    good = checkpoints.save(1, write("good"), {})

    def killed(folder):
        (folder / "weights").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(2, killed, {})
    (tmp_path / "step-000009").mkdir()  # a folder without state is not a checkpoint
    assert checkpoints.latest() == good
    checkpoints.save(3, write("next"), {})
    assert not list(tmp_path.glob(".partial*"))


def test_unreadable_state_is_reported(tmp_path):
    path = Checkpoints(tmp_path, keep=1).save(1, write(""), {})
    (path / "state.json").write_text("{")
    with pytest.raises(ResumeError, match=r"state\.json"):
        read_state(path)


def test_what_json_cannot_hold_is_refused_before_the_rename(tmp_path):
    with pytest.raises(TypeError, match="set"):
        Checkpoints(tmp_path, keep=1).save(1, write(""), {"bad": {1}})
    assert json.dumps(sorted(path.name for path in tmp_path.glob("step-*"))) == "[]"
