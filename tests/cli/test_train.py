import json
import sys

import pytest


def test_options_become_settings_with_their_source(winnow, trainer, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('n = 4\nrecipe = "pods"\nseed = 3\n')
    told = winnow(
        "train", "--config", file, "--n", 8, "--m", "4", "--prompts-per-step", 5, "--micro_batch", 2,
        "--prompt-column", "q", "--reward", "exact", "--drop-bad-rows", "--set", "max_new_tokens=16",
        "--no-report",
    )  # fmt: skip
    assert told.code == 0, told.err
    config, provenance = trainer.calls[-1].config, trainer.calls[-1].provenance
    assert (config.n, config.m, config.recipe, config.seed) == (8, 4, "pods", 3)
    assert (config.prompts_per_step, config.micro_batch, config.max_new_tokens) == (5, 2, 16)
    assert config.task_options == {"prompt_column": "q", "reward": "exact", "drop_bad_rows": True}
    assert (provenance["n"], provenance["recipe"], provenance["lr"]) == ("flag", "file", "default")


def test_the_run_ends_with_a_report(winnow, trainer, tmp_path):
    told = winnow("train", "--quiet")
    assert told.code == 0 and told.out == ""
    assert (tmp_path / "run" / "report.html").is_file()


def test_json_is_all_there_is_on_stdout(winnow, trainer):
    told = winnow("train", "--json", "--no-report")
    assert json.loads(told.out)["recipe"] == "vigor+pods"
    assert told.out.count("\n") == 1


def test_a_run_without_matplotlib_is_still_a_run(winnow, trainer, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = winnow("train")
    assert told.code == 0 and "winnow-rl[report]" in told.err


def test_an_interrupted_run_says_so(winnow, trainer):
    trainer.outcome = 130
    assert winnow("train", "--no-report").code == 130


def test_resume_takes_the_settings_of_the_run(winnow, trainer, tmp_path):
    (tmp_path / "config.toml").write_text('recipe = "grpo"\nn = 4\n')
    told = winnow("train", "--out", tmp_path, "--resume", "--steps", 9, "--allow-change", "lr,seed", "--no-report")
    assert told.code == 0, told.err
    call = trainer.calls[-1]
    assert call.resume and call.allow_change == ["lr", "seed"]
    assert (call.config.recipe, call.config.n, call.config.steps) == ("grpo", 4, 9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--recipe", "pods", "--n", 8, "--m", 16], ["m=16", "n=8"]),  # B13
        (["--recipe", "grpo", "--n", 1], ["n=1"]),  # B14
        (["--recipe", "pods", "--m", 1], ["m=1"]),  # B14
        (["--set", "max_new_token=8"], ["max_new_token", "did you mean", "max_new_tokens"]),  # B16
        (["--recipe", "pod"], ["pod", "did you mean", "pods"]),
        (["--set", "recipe_options.gatee=none"], ["gatee", "gate"]),
        (["--set", "lr"], ["key=value"]),
        (["--steps", 0], ["steps"]),
    ],
)
def test_bad_input_is_told_before_anything_is_loaded(winnow, trainer, arguments, words):
    told = winnow("train", *arguments)
    assert told.code == 2 and told.out == "" and not trainer.calls
    for word in words:
        assert word in told.err


def test_a_missing_or_torn_settings_file_is_named(winnow, trainer, tmp_path):
    assert "absent.toml" in winnow("train", "--config", tmp_path / "absent.toml").err
    (tmp_path / "torn.toml").write_text("n = \n")
    told = winnow("train", "--config", tmp_path / "torn.toml")
    assert told.code == 2 and "torn.toml" in told.err
