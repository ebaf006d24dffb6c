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


def test_data_is_no_log(winnow, tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"{i} + 1 =", "answer": i + 1}) + "\n" for i in range(30)))
    told = winnow("audit", path)
    assert told.code == 2 and told.out == "" and len(told.err.splitlines()) == 1
    assert "looks like data" in told.err and "prompt, answer" in told.err and "winnow check" in told.err


def test_what_was_not_logged_is_said_so(winnow, tmp_path):
    path = write(tmp_path / "rollouts.jsonl", [line(f"train:{i % 2}", float(i % 3), outcome=None) for i in range(8)])
    told = winnow("audit", path)
    assert "no outcome logged" in told.out and "none cut at the limit" in told.out
    assert "nothing measured" not in told.out


@pytest.mark.parametrize(("step", "advice"), [(0, "winnow pilot --keep"), (3, "measure the prompts with winnow pilot")])
def test_a_pilot_is_not_sent_to_a_pilot(winnow, tmp_path, step, advice):
    path = write(tmp_path / "rollouts.jsonl", [line(f"train:{i % 4}", float(i % 2), step=step) for i in range(16)])
    facts = json.loads(winnow("audit", path, "--json").out)
    [found] = [finding for finding in facts["findings"] if finding["check"] == "signal"]
    assert advice in found["do"]


def test_a_line_cut_short_is_told(winnow, log):
    path = log / "rollouts.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert "1 last line cut short" in winnow("audit", log).out
