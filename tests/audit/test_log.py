import json

import pytest

from tests.audit.logs import line, write
from winnow.audit import open_log
from winnow.errors import DataError


def test_an_entry_has_what_the_line_has(tmp_path):
    path = write(tmp_path / "r.jsonl", [line("train:4", None, text="abc", finish="length", parts={"a": None, "b": 2})])
    (entry,) = open_log([path])
    assert (entry.prompt_id, entry.answer, entry.length, entry.truncated) == ("train:4", "7", 3, True)
    assert entry.reward is None and entry.judged is None and not entry.passed
    assert entry.parts == {"a": None, "b": 2.0} and entry.place == f"{path} line 1"


def test_without_ids_the_length_is_that_of_the_text(tmp_path):
    (entry,) = open_log([write(tmp_path / "r.jsonl", [line(text="four", ids=None)])])
    assert entry.length == 4


def test_a_folder_stands_for_its_files_oldest_first(tmp_path):
    for name, prompt in (("rollouts", "c"), ("rollouts-000002", "b"), ("rollouts-000001", "a")):
        write(tmp_path / f"{name}.jsonl", [line(prompt)])
    log = open_log([tmp_path])
    assert [entry.prompt_id for entry in log] == ["a", "b", "c"]
    assert log.bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert len(open_log([tmp_path, tmp_path / "rollouts.jsonl"]).files) == 3


def test_a_last_line_cut_short_is_counted(tmp_path):
    path = write(tmp_path / "r.jsonl", [line(), line()])
    path.write_bytes(path.read_bytes()[:-30])
    log = open_log([path])
    assert len(list(log)) == 1 and log.torn == 1
    assert len(list(log)) == 1 and log.torn == 1  # a second reading counts anew


GARBAGE = {
    "not JSON": "hello",
    "expected an object": "[1, 2]",
    "step=": '{"prompt_id": "a", "text": "b"}',
    "no prompt_id": '{"step": 1, "text": "b"}',
    "no text": '{"step": 1, "prompt_id": "a"}',
    "text=5": '{"step": 1, "prompt_id": "a", "text": 5}',
    "reward='high'": '{"step": 1, "prompt_id": "a", "text": "b", "reward": "high"}',
    "ids='x'": '{"step": 1, "prompt_id": "a", "text": "b", "ids": "x"}',
    "parts=": '{"step": 1, "prompt_id": "a", "text": "b", "parts": [1]}',
    "parts=4": '{"step": 1, "prompt_id": "a", "text": "b", "parts": 4}',
    "unreadable": "[" * 100_000,
    "answer=": '{"step": 1, "prompt_id": "a", "text": "b", "answer": ["7"]}',
}


@pytest.mark.parametrize("said", GARBAGE)
def test_garbage_is_refused_with_its_line(tmp_path, said):
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(line()) + "\n\n" + GARBAGE[said] + "\n" + json.dumps(line()) + "\n")
    with pytest.raises(DataError) as told:
        list(open_log([path]))
    assert "line 3" in str(told.value) and said in str(told.value)


def test_at_most_ten_bad_lines_are_named(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xff\xfe\n" * 50)
    with pytest.raises(DataError) as told:
        list(open_log([path]))
    assert str(told.value).count("r.jsonl line") == 10 and "perhaps more" in str(told.value)


def test_numbers_that_are_not_finite_are_missing(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"step": 1, "prompt_id": "a", "text": "b", "reward": NaN, "outcome": Infinity}\n')
    (entry,) = open_log([path])
    assert entry.reward is None and entry.outcome is None


def test_missing_paths_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        open_log([tmp_path / "nothing.jsonl"])
    with pytest.raises(DataError, match=r"no rollouts\.jsonl"):
        open_log([tmp_path])
