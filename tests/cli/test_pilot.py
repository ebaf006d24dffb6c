import json
import signal

import pytest

from winnow.pilot.run import order
from winnow.train import TrainConfig

TINY = ["pilot", "--k", 4, "--set", "max_new_tokens=12"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = [{"prompt": f"{i}+{j}=", "answer": str(i + j), "note": [i, j]} for i in range(8) for j in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_built_in_task_from_end_to_end(winnow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = winnow(*TINY, "--prompts", 24, "--keep", "kept.jsonl")
    assert told.code == 0, told.err
    assert max(len(line) for line in told.out.splitlines()) <= 80
    for words in ("Prompts by pass rate", "modelled", "Worth keeping", "What follows", "rollouts/s"):
        assert words in told.out
    folder = tmp_path / "runs" / "pilot-mix-seed0"
    assert len((folder / "rollouts.jsonl").read_text().splitlines()) == 24 * 4
    saved = json.loads((folder / "pilot.json").read_text())["result"]
    kept = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert len(kept) == saved["keep"]["kept"] and {"id", "prompt", "answer", "family"} <= set(kept[0])

    # The same pilot again draws nothing, and another rule chooses from the same rollouts.
    again = winnow(*TINY, "--prompts", 24, "--out", folder, "--json", "--min-signal", 0.0, "--keep", "all.jsonl")
    facts = json.loads(again.out)
    assert facts["rollouts_drawn_now"] == 0 and facts["pass_rates"] == saved["pass_rates"]
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 24
    other = winnow(*TINY, "--prompts", 24, "--out", folder, "--k", 6)
    assert other.code == 2 and "k: saved 4, now 6" in other.err

    seen = json.loads(winnow("audit", folder, "--with", "task", "--task", "mix", "--json").out)
    assert seen["rollouts"] == 96 and seen["verifiers"]["disagreements"] == 0
    assert seen["signal"]["kinds"]["mixed"] == saved["groups"]["mixed"]


def test_steps_that_hold_no_prompt_are_left_out_at_both_ends():
    from winnow.cli.pilot_text import _without_empty_ends

    rates = {"none": 4, "0.0 to 0.1": 0, "0.1 to 0.2": 2, "0.2 to 0.3": 0, "0.3 to 0.4": 1, "0.4 to 0.5": 0, "all": 0}
    assert [label for label, _ in _without_empty_ends(rates)] == [
        "none",
        "0.1 to 0.2",
        "0.2 to 0.3",
        "0.3 to 0.4",
        "all",
    ]
    assert _without_empty_ends({"none": 1, "0.0 to 1.0": 0, "all": 2}) == [("none", 1), ("all", 2)]


def test_kept_rows_are_those_of_the_file(winnow, data, tmp_path):
    told = winnow(*TINY, "--task", data, "--model", "built-in", "--keep", tmp_path / "kept.jsonl", "--json",
                  "--out", tmp_path / "pilot", "--min-signal", 0.3)  # fmt: skip
    assert told.code == 0, told.err
    facts = json.loads(told.out)
    lines = data.read_text().splitlines()
    kept = (tmp_path / "kept.jsonl").read_text().splitlines()
    assert len(kept) == facts["keep"]["kept"] > 0
    places = [lines.index(line) for line in kept]
    assert places == sorted(places)


def test_interrupted_it_keeps_what_it_has(winnow, data, tmp_path, monkeypatch):
    from winnow.cli import pilot_progress

    shown = pilot_progress.Display.step

    def interrupt(self, done, asked):
        shown(self, done, asked)
        if 0 < done < asked:
            signal.raise_signal(signal.SIGINT)

    command = [*TINY, "--task", data, "--model", "built-in", "--set", "slots=8", "--out", tmp_path / "pilot"]
    monkeypatch.setattr("winnow.pilot.draw.BATCH", 8)
    monkeypatch.setattr(pilot_progress.Display, "step", interrupt)
    told = winnow(*command, "--keep", tmp_path / "kept.jsonl")
    assert told.code == 130 and "interrupted after" in told.err and "goes on" in told.err
    assert "Prompts by pass rate" in told.out and not (tmp_path / "kept.jsonl").exists()
    monkeypatch.undo()
    rest = winnow(*command, "--json")
    assert rest.code == 0 and 0 < json.loads(rest.out)["rollouts_drawn_now"] < json.loads(rest.out)["rollouts"]


def test_mistakes_are_found_before_the_model_is_loaded(winnow, data, monkeypatch):
    monkeypatch.setattr("winnow.train.prepare.prepare", None)
    for arguments, said in (
        (["--keep", data, "--task", data], "never changed"),
        (["--keep", "kept.csv"], "JSON lines"),
        (["--k", 1], "k"),
        (["--set", "temprature=1"], "did you mean 'temperature'"),
    ):
        told = winnow(*TINY, *arguments)
        assert told.code == 2 and said in told.err, told.err


def test_quiet_prints_nothing(winnow, data, tmp_path):
    told = winnow(*TINY, "--task", data, "--model", "built-in", "--out", tmp_path / "p", "--prompts", 4, "--quiet")
    assert told.code == 0 and told.out == "" and "pilot of" not in told.err


def test_the_order_of_prompts_is_a_permutation_of_the_seed():
    assert sorted(order(TrainConfig(), 50)) == list(range(50))
    assert order(TrainConfig(), 50) == order(TrainConfig(), 50) != order(TrainConfig(seed=1), 50)
