from __future__ import annotations

import errno
import shutil
from collections import namedtuple

import pytest
from safetensors import SafetensorError

from tests.train.conftest import Notes, make_policy, make_task
from winnow.errors import SafetyStop
from winnow.train import Trainer, disk, weights
from winnow.train.logs import Lines, write_json

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def full(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 0))


@pytest.mark.parametrize("error", [SafetensorError("I/O error"), RuntimeError("unexpected pos 64 vs 0")])
def test_errors_of_libraries_are_told_as_a_full_disk_once(settings, tmp_path, monkeypatch, full, error):
    def fail(*given):
        raise error

    monkeypatch.setattr(weights, "save_file", fail)
    notes = Notes()
    with pytest.raises(SafetyStop, match="disk full") as caught:
        Trainer(settings(), progress=notes, task=make_task(), policy=make_policy()).run()
    assert str(tmp_path / "run" / "checkpoints") in str(caught.value)
    assert not any("disk full" in note for note in notes.notes)
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]


def test_another_failure_is_not_called_a_full_disk(tmp_path):
    assert disk.reason(tmp_path, OSError(errno.EACCES, "Permission denied")) == "Permission denied"
    assert disk.reason(tmp_path, OSError(errno.ENOSPC, "No space left on device")).startswith("disk full")
    assert disk.reason(tmp_path, OSError("I/O error: No space left on device (os error 28)")).startswith("disk full")


def test_a_json_file_that_cannot_be_written_leaves_no_half(tmp_path, monkeypatch):
    def fail(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    write_json(tmp_path / "ledger.json", {"a": 1})
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(SafetyStop, match=r"ledger\.json cannot be written: disk full"):
        write_json(tmp_path / "ledger.json", {"a": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def test_a_log_on_a_full_disk_is_a_stop(tmp_path):
    path = tmp_path / "metrics.jsonl"
    try:
        path.symlink_to("/dev/full")
        log = Lines(path)
    except OSError:
        pytest.skip("no /dev/full here")
    with pytest.raises(SafetyStop, match=r"metrics\.jsonl cannot be written: disk full"):
        log.write([{"a": 1}])
    log.close()
