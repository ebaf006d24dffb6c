from __future__ import annotations

import json

import numpy as np
import pytest

from winnow.errors import ResumeError
from winnow.train.logs import Lines, encode


def read(path):
    return [json.loads(line)["i"] for line in path.read_text().splitlines()]


def everything(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.jsonl"))}


def test_missing_values_are_left_out_and_arrays_written():
    line = encode({"a": None, "b": float("nan"), "c": np.array([1, 2]), "d": np.float64(0.5), "e": np.nan, "f": 0})
    assert json.loads(line) == {"c": [1, 2], "d": 0.5, "f": 0}


def test_rotation_keeps_the_newest_files(tmp_path):
    lines = Lines(tmp_path / "rollouts.jsonl", megabytes=50e-6, files=2)
    for i in range(30):
        lines.write([{"i": i, "text": "x" * 10}])
    lines.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["rollouts-000014.jsonl", "rollouts-000015.jsonl", "rollouts.jsonl"]
    assert read(tmp_path / "rollouts-000015.jsonl") == [28, 29]


@pytest.mark.parametrize("checkpoint", [0, 1, 4, 7, 12])
@pytest.mark.parametrize("killed", [12, 13, 20])
def test_cutting_back_and_going_on_equals_never_having_stopped(tmp_path, checkpoint, killed):
    def record(i):
        return {"i": i, "text": "x" * (i % 7)}

    def undisturbed():
        lines = Lines(tmp_path / "a" / "rollouts.jsonl", megabytes=60e-6, files=50)
        for i in range(25):
            lines.write([record(i)])
        lines.close()

    def interrupted():
        lines = Lines(tmp_path / "b" / "rollouts.jsonl", megabytes=60e-6, files=50)
        position = lines.position()
        for i in range(killed):
            if i == checkpoint:
                position = lines.position()
            lines.write([record(i)])
        lines.close()
        start = checkpoint if checkpoint < killed else 0
        again = Lines(tmp_path / "b" / "rollouts.jsonl", megabytes=60e-6, files=50)
        again.cut(position)
        for i in range(start, 25):
            again.write([record(i)])
        again.close()

    for name in "ab":
        (tmp_path / name).mkdir()
    undisturbed()
    interrupted()
    assert everything(tmp_path / "a") == everything(tmp_path / "b")


def test_a_log_shorter_than_its_checkpoint_is_refused(tmp_path):
    lines = Lines(tmp_path / "metrics.jsonl")
    lines.write([{"i": 0}])
    part, size = lines.position()
    with pytest.raises(ResumeError, match="shorter"):
        lines.cut([part, size + 1])
    lines.close()


def test_a_position_in_a_deleted_file_gives_an_empty_log(tmp_path):
    lines = Lines(tmp_path / "rollouts.jsonl", megabytes=20e-6, files=1)
    lines.write([{"i": 0}])
    position = lines.position()
    for i in range(1, 40):
        lines.write([{"i": i}])
    lines.cut(position)
    lines.close()
    assert everything(tmp_path) == {"rollouts.jsonl": b""}
