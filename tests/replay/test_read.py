import json

import numpy as np
import pytest

from winnow.errors import ConfigError, DataError
from winnow.replay import read_log


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def winnow_line(step, prompt, draw, reward, outcome=None):
    return {
        "step": step, "prompt_id": prompt, "rollout_id": f"{step}/{prompt}/{draw}", "prompt": f"what is {prompt}?",
        "text": "7", "ids": [1, 2, 3], "finish": "length" if draw else "stop", "reward": reward, "outcome": outcome,
        "parts": {"score": 0.25}, "reason": None,
    }  # fmt: skip


def test_a_run_folder_with_rotated_files(tmp_path):
    write(tmp_path / "rollouts-000001.jsonl", [winnow_line(1, "a", i, float(i)) for i in range(2)])
    write(tmp_path / "rollouts.jsonl", [winnow_line(2, "a", i, None if i else 0.5, 1.0) for i in range(2)])
    log = read_log([tmp_path], needs=("answers", "scores", "truncated", "entropy"), texts=True)
    assert log.step.tolist() == [1, 2] and log.prompts == 1 and log.texts == ["what is a?"]
    np.testing.assert_array_equal(log.reward, [0, 1, 0.5, np.nan])
    np.testing.assert_array_equal(log.judged, [0, 1, 1, np.nan])
    assert log.tokens.tolist() == [3] * 4 and log.unit == "tokens"
    assert sorted(log.columns) == ["answers", "scores", "truncated"]
    assert log.columns["truncated"].tolist() == [0, 1, 0, 1] and log.columns["scores"].tolist() == [0.25] * 4


def test_verl_writes_one_file_per_step_with_scores_and_verdicts(tmp_path):
    for step in (10, 9):
        records = [
            {"input": "q", "output": "yes", "gts": "y", "score": -1.0 + 2 * i, "step": step, "acc": bool(i)}
            for i in range(2)
        ]
        write(tmp_path / f"{step}.jsonl", records)
    log = read_log([tmp_path])
    assert log.step.tolist() == [9, 10] and log.prompts == 1
    assert log.reward.tolist() == [-1, 1, -1, 1] and log.judged.tolist() == [0, 1, 0, 1]
    assert log.unit == "characters" and log.tokens.tolist() == [3] * 4
    assert any("characters" in note for note in log.notes)


def test_trl_sums_its_reward_functions_and_logs_a_batch_once(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import Table, parquet

    messages = [[{"role": "user", "content": "q"}]] * 2 + [[{"role": "user", "content": "r"}]] * 2
    table = {"prompt": messages, "completion": [[{"role": "assistant", "content": text}] for text in "abcd"],
             "accuracy": [1.0, 0.0, None, None], "length_bonus": [0.5, 0.5, 0.25, None],
             "advantage": [1.0, -1.0, 0.0, 0.0]}  # fmt: skip
    (tmp_path / "completions").mkdir()
    for step, scale in ((1, 1), (2, 1), (3, 2)):
        rows = {**table, "accuracy": [None if value is None else value * scale for value in table["accuracy"]]}
        file = tmp_path / "completions" / f"completions_{step:05d}.parquet"
        parquet.write_table(Table.from_pydict({"step": [step] * 4, **rows}), file)
    log = read_log([tmp_path])
    assert log.ends.tolist() == [2, 4] and log.step.tolist() == [1, 1, 3, 3]
    np.testing.assert_array_equal(log.reward, [1.5, 0.5, 0.25, np.nan, 2.5, 0.5, 0.25, np.nan])
    assert log.tokens.tolist() == [1] * 8
    assert any("accuracy + length_bonus" in note for note in log.notes)
    assert any("1 steps hold the rollouts of an earlier one" in note for note in log.notes)
    assert read_log([tmp_path], columns={"reward": "length_bonus"}).reward[0] == 0.5


def trl_lines(columns):
    return [
        {"prompt": "q", "completion": "a", "advantage": 0.0, "step": 1, **dict(zip(columns, values, strict=True))}
        for values in zip(*columns.values(), strict=True)
    ]


@pytest.mark.parametrize(
    ("columns", "judged", "said"),
    [
        ({"right": [1, 0, 1], "bonus": [0.5, 0.5, 0.0]}, [1, 0, 1], "outcome: right, the only one of them"),
        ({"right": [1, 0, 1], "form": [1, 0, 0]}, [2, 0, 1], "--column outcome=right or --column outcome=form"),
        ({"right": [1, None, 1], "bonus": [2, 0, 0]}, [3, 0, 1], "--column outcome=right or --column outcome=bonus"),
        ({"right": [0, 0, 1], "bonus": [0.5, 0.5, 0.0]}, [0.5, 0.5, 1], "--column reward=NAME"),
    ],
)
def test_the_verdict_among_several_reward_columns(tmp_path, columns, judged, said):
    log = read_log([write(tmp_path / "trl.jsonl", trl_lines(columns))])
    np.testing.assert_array_equal(log.judged, judged)
    summed = [sum(each or 0 for each in row) for row in zip(*columns.values(), strict=True)]
    np.testing.assert_array_equal(log.reward, summed)
    assert any(said in note for note in log.notes)


def test_any_names_by_a_mapping(tmp_path):
    path = write(
        tmp_path / "mine.jsonl", [{"q": 3, "r1": 1, "r2": 0.5, "len": 4}, {"q": 3, "r1": 0, "r2": None, "len": 5}]
    )
    log = read_log([path], columns={"prompt": "q", "reward": "r1+r2", "tokens": "len"})
    assert log.reward.tolist() == [1.5, 0.0] and log.tokens.tolist() == [4, 5] and log.visits == 1


@pytest.mark.parametrize(
    ("record", "columns", "error", "said"),
    [
        ({"q": 1, "reward": 1}, {}, DataError, "--column prompt=NAME"),
        ({"prompt": "q", "points": 1}, {}, DataError, "--column reward=NAME"),
        ({"prompt": "q", "reward": 1}, {"reward": "scor"}, ConfigError, "no 'scor'"),
        ({"prompt": "q", "reward": 1}, {"rewards": "reward"}, ConfigError, "did you mean 'reward'"),
        ({"prompt": "q", "reward": "good"}, {}, DataError, "line 1: reward='good'"),
        ({"prompt": "q", "reward": 1, "step": "two"}, {}, DataError, "step='two'"),
        ({"prompt": "q", "reward": 1, "tokens": -3}, {}, DataError, "tokens=-3"),
        ([1], {}, DataError, "expected an object"),
    ],
)
def test_mistakes_are_named(tmp_path, record, columns, error, said):
    path = write(tmp_path / "x.jsonl", [record])
    with pytest.raises(error, match=said):
        read_log([path], columns=columns)


def test_damage(tmp_path):
    path = write(tmp_path / "x.jsonl", [{"prompt": "q", "reward": 1.0}] * 2)
    with path.open("a") as file:
        file.write('{"prompt": "q", "rew')
    log = read_log([path])
    assert len(log) == 2 and any("line 3: cut short" in note for note in log.notes)
    with path.open("a") as file:
        file.write('\n{"prompt": "q", "reward": 0.0}\n')
    with pytest.raises(DataError, match="line 3 is not JSON"):
        read_log([path])
    for missing in (tmp_path / "none", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(DataError):
            read_log([missing])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"reward": 1e200},
            r"line 2: reward=1e\+200: at most 1e\+150 in magnitude .* or write null for none$",
        ),
        ({"reward": 1.0, "outcome": -1e151}, r"line 2: outcome=-1e\+151: at most"),
        ({"reward": 9e149, "bonus": 9e149}, r"line 2: reward\+bonus=1.8e\+150: at most"),
    ],
)
def test_what_no_step_can_be_told_is_named(tmp_path, wrong, said):
    right = {"prompt": "q", "reward": 1e150, "outcome": 1.0, "bonus": 0.0, "tokens": 3}
    path = write(tmp_path / "log.jsonl", [right, right | wrong])
    columns = {"reward": "reward+bonus"} if "bonus" in wrong else {}
    with pytest.raises(DataError, match=said):
        read_log([path], columns=columns)
    write(path, [right, right | {"reward": float("inf")}])
    assert np.isnan(read_log([path]).reward[1])


def test_a_run_that_logged_trained_rows_only_says_so(tmp_path):
    write(tmp_path / "rollouts.jsonl", [winnow_line(1, "a", i, float(i)) for i in range(2)])
    (tmp_path / "config.toml").write_text('log_rollouts = "trained"\n')
    assert any("too good" in note for note in read_log([tmp_path]).notes)
