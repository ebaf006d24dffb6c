import json

import numpy as np
import pytest

from tests.conftest import CASES
from tests.report.synthetic import write_run
from winnow.errors import DataError
from winnow.report.run import load_run, mean_of, rollout_files


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return load_run(write_run(tmp_path_factory.mktemp("run"), steps=6, eval_every=2))


def test_columns_hold_only_measured_steps(run):
    x, accuracy = run.series("total/rollouts", "eval/accuracy")
    assert len(x) == len(accuracy) == 4  # before training, steps 2, 4 and 6
    assert x[0] == 0 and np.all(np.diff(x) > 0)
    assert [len(column) for column in run.series("no", "such")] == [0, 0]


def test_a_value_that_is_not_finite_is_a_gap(tmp_path):
    lines = ['{"step": 1, "reward/all": 0.5}', '{"step": 2, "reward/all": NaN}', '{"step": 3, "reward/all": 0.25}']
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    step, reward = load_run(tmp_path).series("step", "reward/all")
    assert step.tolist() == [1, 3] and reward.tolist() == [0.5, 0.25]


def test_mean_leaves_out_what_abstained():
    case = CASES["LOG-01"]
    values = [float(value) for value in case["input"]["values"]]
    assert mean_of(values) == (case["expected"]["mean"], case["expected"]["count"])
    assert mean_of([None, True, "x"]) == (None, 0)


def test_the_evaluation_before_training_has_spent_nothing(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "eval/accuracy": 0.25}\n{"step": 1, "total/rollouts": 8}\n')
    x, accuracy = load_run(tmp_path).series("total/rollouts", "eval/accuracy")
    assert (x.tolist(), accuracy.tolist()) == ([0.0], [0.25])


def test_a_torn_last_line_is_passed_over_but_a_broken_one_is_named(tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text('{"step": 1}\n{"step": 2, "rewa')
    torn = load_run(tmp_path)
    assert len(torn.steps) == 1 and "line 2: cut short" in torn.notes[0]
    metrics.write_text('{"step": 1}\n{"step": \n{"step": 3}\n')
    with pytest.raises(DataError, match=r"metrics\.jsonl line 2"):
        load_run(tmp_path)


@pytest.mark.parametrize("damage", ["[1]", '{"step": "x"}', "5", "{}", '{"step": 1, "prompt_id": []}', "\\x00"])
def test_damaged_lines_cost_a_rollout_but_not_a_step(tmp_path, damage):
    metrics, rollouts = tmp_path / "metrics.jsonl", tmp_path / "rollouts.jsonl"
    metrics.write_text('{"step": 1}\n')
    rollouts.write_text(f'{damage}\n{{"step": 1, "reward": 1.0}}\n{damage}')
    run = load_run(tmp_path)
    assert list(run.rollouts()) == list(run.rollouts()) == [{"step": 1, "reward": 1.0}]
    assert len(run.notes) == 1 and "2 damaged lines (the first is line 1" in run.notes[0]
    metrics.write_text(f'{{"step": 1}}\n{damage}\n')
    with pytest.raises(DataError, match=r"metrics\.jsonl line 2"):
        load_run(tmp_path)


@pytest.mark.parametrize("name", ["summary.json", "ledger.json"])
def test_a_file_that_is_no_object_is_named(tmp_path, name):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    (tmp_path / name).write_text("[1]")
    with pytest.raises(DataError, match=name):
        load_run(tmp_path)


@pytest.mark.parametrize("content", [None, ""])
def test_a_folder_without_steps_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    with pytest.raises(DataError):
        load_run(tmp_path)
    with pytest.raises(DataError, match="no run folder"):
        load_run(tmp_path / "absent")


def test_rotated_rollouts_come_oldest_first(tmp_path):
    for name in ("rollouts.jsonl", "rollouts-000002.jsonl", "rollouts-000010.jsonl"):
        (tmp_path / name).write_text("")
    names = [path.name for path in rollout_files(tmp_path)]
    assert names == ["rollouts-000002.jsonl", "rollouts-000010.jsonl", "rollouts.jsonl"]


def test_totals_of_an_unfinished_run_come_from_its_steps(run, tmp_path):
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "total/rows": 12}) + "\n")
    unfinished = load_run(tmp_path)
    assert unfinished.total("rows") == 12 and unfinished.total("seconds") is None and not unfinished.finished
    assert run.finished and run.name == "vigor+pods"
