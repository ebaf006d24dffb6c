import json

import pytest

from tests.report.synthetic import write_run
from winnow import registry
from winnow.compare.runner import Event


@pytest.fixture
def runs(monkeypatch):
    """Put made-up runs in the place of training; vigor+pods learns faster than the others."""
    asked = []

    def run_jobs(jobs, *, parallel, report):
        events = []
        for job in jobs:
            asked.append(job)
            stopped = job.settings.get("lr") == 9 and job.seed == 0
            if not stopped:
                rise = 0.4 if job.settings["recipe"] == "vigor+pods" else 0.25
                write_run(job.folder, recipe=job.settings["recipe"], rise=rise, seed=job.seed, steps=8, eval_every=2)
            events.append(Event(job, "failed" if stopped else "done", 1.0, "no signal" if stopped else ""))
            report(events[-1])
        return events

    monkeypatch.setattr("winnow.compare.run_jobs", run_jobs)
    monkeypatch.setattr("winnow.compare.figures.draw", lambda result, folder: {})
    return asked


def test_the_table_fits_and_the_files_are_written(winnow, runs, tmp_path):
    told = winnow("compare", "grpo", "vigor+pods", "--seeds", 3, "--out", tmp_path)
    assert told.code == 0, told.err
    assert max(len(line) for line in told.out.splitlines()) <= 80
    assert "…" not in told.out and "vigor+pods" in told.out
    assert {path.name for path in tmp_path.iterdir()} >= {"compare.json", "compare.html", "runs"}
    assert "[6/6] vigor+pods seed 2: done" in told.err


def test_every_arm_gets_the_same_budget_seeds_and_number_of_evaluations(winnow, runs, tmp_path):
    winnow(
        "compare", "grpo:n=2,prompts=64", "pods:n=32,m=8,prompts=8", "--budget", 25600, "--seeds", 2,
        "--first-seed", 10, "--task", "mix", "--lr", 0.01, "--out", tmp_path, "--quiet",
    )  # fmt: skip
    assert {(job.arm, job.seed) for job in runs} == {
        (arm, seed) for arm in ("grpo:n=2,prompts=64", "pods:n=32,m=8,prompts=8") for seed in (10, 11)
    }
    for job in runs:
        assert job.settings["rollouts"] == 25600 and job.settings["lr"] == 0.01
        per_step = job.settings["prompts_per_step"] * job.settings["n"]
        assert job.settings["eval_every"] == round(25600 / per_step / 20)


def test_json_is_the_whole_comparison(winnow, runs, tmp_path):
    told = winnow("compare", "grpo", "vigor+pods", "--seeds", 2, "--cost", "0,1,0", "--json", "--out", tmp_path)
    found = json.loads(told.out)
    assert found == json.loads((tmp_path / "compare.json").read_text())
    grpo = found["arms"][0]
    assert grpo["label"] == "grpo" and grpo["seeds"] == [0, 1]
    assert grpo["to_target"]["seconds"]["value"] == pytest.approx(grpo["to_target"]["rollouts"]["value"])


def test_memories_that_no_prompt_comes_back_to_are_told_once(winnow, runs, tmp_path):
    arms = ["grpo", "greso", "repo:prompts=32"]
    told = winnow("compare", *arms, "--seeds", 2, "--budget", 12800, "--out", tmp_path)
    assert told.err.count("note: recipes that learn from a prompt's earlier visits") == 1
    assert "to any: greso (0.4 to 1.6), repo:prompts=32 (0.4) passes over 4,000 prompts; raise --budget" in told.err
    told = winnow("compare", *arms, "--seeds", 1, "--budget", 12800, "--out", tmp_path, "--json", "--quiet")
    assert "note: recipes that learn" in told.err and "greso (0.4 to 1.6)" in json.loads(told.out)["notes"][0]
    for few in (["greso", "--budget", 40000], ["grpo", "--budget", 800]):
        told = winnow("compare", *few, "--seeds", 1, "--out", tmp_path, "--json")
        assert "note: recipes that" not in told.err and json.loads(told.out)["notes"] == []


def test_a_stopped_seed_is_left_out_and_told(winnow, runs, tmp_path):
    told = winnow("compare", "grpo", "grpo:lr=9", "--seeds", 2, "--out", tmp_path)
    assert told.code == 3
    assert "grpo:lr=9 seed 0: failed\nno signal" in told.err
    assert "left out: grpo:lr=9 1" in " ".join(told.out.split())


def test_a_recipe_that_never_finished_is_an_error(winnow, runs, tmp_path):
    told = winnow("compare", "grpo", "grpo:lr=9", "--seeds", 1, "--out", tmp_path)
    assert told.code == 3 and "grpo:lr=9: every seed was stopped" in told.err and told.out == ""


def test_all_recipes_fit_into_one_comparison(winnow, runs, tmp_path):
    names = registry.names()
    told = winnow("compare", *names, "--seeds", 1, "--out", tmp_path, "--quiet")
    assert told.code == 0, told.err
    assert [job.settings["recipe"] for job in runs] == names
    assert all(f"\n{name}  1 seed\n" in told.out for name in names)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["grpo", "grpo"], "given twice"),
        (["grpo", "pods:n=4,m=8"], "m=8"),
        (["grpo", "podz"], "did you mean 'pods'"),
        (["grpo", "pods:mm=8"], "mm"),
        (["grpo", "--target", "high"], "--target"),
        (["grpo", "--target", "1.5"], "--target"),
        (["grpo", "--cost", "cheap"], "cost regime"),
        (["grpo", "--budget-unit", "rollout"], "did you mean 'rollouts'"),
        (["grpo", "--budget", "0"], "budget"),
        (["grpo", "--budget", "nan"], "--budget nan"),
        (["grpo", "--budget", "inf", "--budget-unit", "seconds"], "--budget inf"),
        (["grpo", "--set", "steps=4"], "use --budget"),
        (["grpo", "--set", "eval_prompts=0"], "eval_prompts=0"),
        (["grpo:n=4", "grpo:n=04"], "'grpo:n=4' and 'grpo:n=04' have the same settings"),
        (["grpo:seed=3", "pods"], "with --first-seed and --seeds"),
        (["grpo", "pods:task_options.spread=0"], "--set task_options.spread=..."),
        (["grpo", "pods:model=x"], "with --model"),
        (["grpo", "pods:rollouts=9"], "with --budget"),
        (["grpo", "pods:eval_samples=9"], "--set eval_samples=..."),
    ],
)
def test_bad_input_is_told_before_any_run(winnow, runs, tmp_path, arguments, words):
    told = winnow("compare", *arguments, "--out", tmp_path)
    assert told.code == 2 and words in told.err and not runs
