"""A few steps of real training; every kind of recipe that `winnow compare` takes."""

import json

import pytest

pytest.importorskip("torch")

from winnow import registry
from winnow.cli.experiment import build
from winnow.cli.values import arm
from winnow.compare.leaderboard import child

TINY = {"prompts_per_step": 4, "eval_prompts": 4, "eval_samples": 1, "log_rollouts": "none", "checkpoint_every": 0}
KINDS = {"memory": "greso", "curriculum": "mopps", "trees": "trace", "replay": "repo", "columns": "seed-grpo"}


def settings(name, folder, budget=96):
    experiment = build([arm(name)], None, TINY, 1, 0, budget, "rollouts")
    (job,) = experiment.jobs(folder)
    return job.settings


@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS.keys())
def test_compare_runs_every_kind_of_recipe(name, tmp_path):
    found = child.play(settings(name, tmp_path), tmp_path / "run")
    assert sum(found["steps"]["rollouts"]) == found["curve"]["rollouts"][-1] <= 96
    assert len(found["curve"]["accuracy"]) == len(found["curve"]["step"]) > 1
    assert all(len(column) == len(found["steps"]["cpu"]) for column in found["steps"].values())
    assert 0 <= found["means"]["contrasts"] <= 16
    json.dumps(found, allow_nan=False)


def test_compare_takes_all_recipes_at_once(tmp_path):
    experiment = build([arm(name) for name in registry.names()], None, {}, 2, 0, None, "rollouts")
    assert len(experiment.jobs(tmp_path)) == 2 * len(registry.names())


def test_a_probe_measures_gradients_and_changes_nothing(tmp_path):
    asked = {**settings("grpo", tmp_path), "lr": 0.0, "max_grad_norm": 1e9, "eval_samples": 4}
    found = child.play(asked, tmp_path / "run", probe=True)
    assert found["noise"]["steps"] == sum(1 for rows in found["steps"]["rows"] if rows)
    assert found["noise"]["noise"] > 0
    assert len(set(found["curve"]["accuracy"])) == 1


def test_what_a_recipe_raises_is_its_record(tmp_path):
    asked = {**settings("grpo", tmp_path), "recipe": "podz"}
    child.work(asked, False, str(tmp_path / "record.json"), {"recipe": "podz"})
    found = json.loads((tmp_path / "record.json").read_text())
    assert found["error"].startswith("ConfigError: unknown recipe 'podz'") and found["recipe"] == "podz"
    assert not (tmp_path / "record.run").exists()


def test_an_interrupted_run_is_no_result(tmp_path, monkeypatch):
    stopped = {"exit_code": 130, "stopped": "interrupted by SIGINT"}
    monkeypatch.setattr("winnow.train.trainer.Trainer.run", lambda self: stopped)
    with pytest.raises(KeyboardInterrupt):
        child.work(settings("grpo", tmp_path), False, str(tmp_path / "record.json"), {})
    assert not (tmp_path / "record.json").exists()
