import json
from datetime import date

import pytest

from winnow.errors import ConfigError, DataError
from winnow.pilot import write_kept
from winnow.pilot.keep import check_target
from winnow.rollout import Prompt
from winnow.task import load

LINES = (
    '{"prompt": "1+1=", "answer": 2.50,  "more": {"a": [1, 2]}}',
    "",
    '{"answer": "7/2", "prompt": "é"}\r',
    '{"prompt": "2+2=", "answer": 4}',
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(LINES).encode())
    return path


def test_rows_are_the_bytes_of_the_file(source, tmp_path):
    prompts = load(str(source), options={"test_fraction": 0.0}).train
    write_kept(tmp_path / "kept.jsonl", [prompts[0], prompts[1]], source)
    assert (tmp_path / "kept.jsonl").read_bytes().decode().splitlines() == [LINES[0], LINES[2].strip()]
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_rows_of_other_files_keep_all_columns(tmp_path):
    path = tmp_path / "data.json"
    rows = [{"prompt": f"{i}+1=", "answer": i + 1, "level": {"n": i}} for i in range(4)]
    path.write_text(json.dumps(rows))
    prompts = load(str(path), options={"test_fraction": 0.0}).train
    write_kept(tmp_path / "kept.jsonl", [prompts[1], prompts[3]], path)
    assert [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()] == [rows[1], rows[3]]


def test_prompts_of_no_file_become_rows(tmp_path):
    prompt = Prompt("train:3", "1+1=", "2", {"level": 1, "when": date(2024, 1, 2)})
    write_kept(tmp_path / "new" / "kept.jsonl", [prompt], None)
    assert json.loads((tmp_path / "new" / "kept.jsonl").read_text()) == {
        "id": "train:3", "prompt": "1+1=", "answer": "2", "level": 1, "when": "2024-01-02",
    }  # fmt: skip


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "kept.jsonl"
    target.write_text("old\n")
    with pytest.raises(DataError, match="bytes"):
        write_kept(target, [Prompt("train:1", "a", "b", {"image": b"\x00"})], None)
    assert target.read_text() == "old\n" and list(tmp_path.iterdir()) == [target]


def test_the_data_itself_is_never_the_target(source, tmp_path):
    for bad in (source, tmp_path, tmp_path / "kept.csv"):
        with pytest.raises(ConfigError, match="--keep"):
            check_target(bad, source)
    check_target(tmp_path / "kept.jsonl", source)
