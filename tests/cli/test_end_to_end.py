"""The commands one after another on a real, tiny run, as a person would give them."""

import json

import pytest

pytestmark = pytest.mark.slow
TINY = [
    "--prompts",
    4,
    "--n",
    8,
    "--m",
    4,
    "--set",
    "eval_prompts=8",
    "--set",
    "eval_samples=2",
    "--set",
    "max_new_tokens=12",
]


def test_train_then_everything_else(winnow, tmp_path):
    run = tmp_path / "run"
    told = winnow("train", *TINY, "--steps", 2, "--out", run, "--json")
    assert told.code == 0, told.err
    summary = json.loads(told.out)
    assert summary["steps"] == 2 and summary["rollouts"] == 64 and (run / "report.html").is_file()

    again = winnow("eval", run, "--json")
    assert json.loads(again.out)["accuracy"] == pytest.approx(summary["accuracy_final"])
    first = winnow("eval", run, "--step", 9)
    assert first.code == 2 and "keeps the checkpoints of steps 2" in first.err

    more = winnow("train", "--out", run, "--resume", "--steps", 3, "--quiet", "--no-report")
    assert more.code == 0, more.err
    other = winnow("train", "--out", run, "--resume", "--lr", 0.5, "--quiet")
    assert other.code == 2 and "lr: saved" in other.err  # B24

    found = json.loads(winnow("check", *TINY, "--json").out)
    assert found["golds"]["accepted"] == found["golds"]["checked"] > 0
    assert found["worst_case"]["rollouts"] == 32 and found["worst_case"]["peak_memory_mb"] > 0
    pilot = json.loads(winnow("plan", *TINY, "--pilot", 8, "--json").out)["signal"]
    assert sum(pilot["pass_rates"].values()) == pilot["prompts"] <= 8


def test_compare_keeps_finished_runs(winnow, tmp_path):
    command = ["compare", "grpo:n=4", "pods:n=8,m=4", "--seeds", 1, "--budget", 64, "--out", tmp_path]
    for item in ("prompts_per_step=4", "eval_prompts=8", "eval_samples=1", "max_new_tokens=12"):
        command += ["--set", item]
    told = winnow(*command)
    assert told.code == 0, told.err
    assert "[2/2] pods:n=8,m=4 seed 0: done" in told.err
    again = winnow(*command, "--cost", "pods")
    assert "[2/2] pods:n=8,m=4 seed 0: kept" in again.err and "grpo:n=4" in again.out
