import json

import pytest

from tests.audit.logs import line, write


@pytest.fixture
def log(tmp_path):
    lines = [line(f"train:{p}", float(i < 2), text="7" if i < 2 else f"17 {i}") for p in range(6) for i in range(4)]
    write(tmp_path / "run" / "rollouts.jsonl", [*lines, line("train:9", None, reason="no parser", text="[red]?")])
    return tmp_path / "run"


def test_findings_and_numbers_are_shown(winnow, log):
    told = winnow("audit", log)
    assert told.code == 0, told.err
    assert max(len(line) for line in told.out.splitlines()) <= 80
    assert "25 rollouts" in told.out and "Numbers" in told.out and "1 x no parser" in told.out
    quiet = winnow("audit", log, "--quiet")
    assert "Findings" in quiet.out and "Numbers" not in quiet.out


def test_two_verifiers(winnow, log, tmp_path):
    reward = tmp_path / "r.py"
    reward.write_text("def contains(completion, answer):\n    return float(answer in completion)\n")
    told = winnow("audit", log, "--against", f"{reward}:contains")
    assert told.code == 0, told.err
    assert "12 of 24 differ" in told.out and "the log \\ contains" in told.out and "'17 2'" in told.out
    facts = json.loads(winnow("audit", log, "--with", "exact", "--against", f"{reward}:contains", "--json").out)
    assert facts["verifiers"]["first"]["name"] == "exact"
    assert facts["findings"][0]["check"] == "verifiers"


def test_golds_from_a_file(winnow, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"q": f"what is {i}?", "a": i}) + "\n" for i in range(1, 11)))
    lines = [line(f"train:{i}", 1.0, text=str(i), prompt=f"what is {i}?", answer=None) for i in range(1, 11)]
    log = write(tmp_path / "rollouts.jsonl", lines)
    told = winnow("audit", log, "--against", "exact")
    assert told.code == 2 and "--task" in told.err
    columns = ["--task", data, "--prompt-column", "q", "--answer-column", "a"]
    for judge in (["--against", "exact"], ["--with", "task"]):
        told = winnow("audit", log, *judge, *columns, "--json")
        assert told.code == 0, told.err
        assert json.loads(told.out)["verifiers"]["table"]["pass"]["pass"] == 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--against", "maths"], "did you mean 'math'"),
        (["--with", "task"], "--task"),
        (["--answer-column", "a"], "--task"),
    ],
)
def test_mistakes_are_bad_input(winnow, log, arguments, said):
    told = winnow("audit", log, *arguments)
    assert told.code == 2 and said in told.err


def test_garbage_is_bad_input_with_its_line(winnow, log):
    path = log / "rollouts.jsonl"
    path.write_text(path.read_text() + "\x00\x00\n" + path.read_text())
    told = winnow("audit", log)
    assert told.code == 2 and "line 26" in told.err and told.out == ""


def test_a_line_cut_short_is_told(winnow, log):
    path = log / "rollouts.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert "1 last line cut short" in winnow("audit", log).out
