from __future__ import annotations

import tomllib

import pytest

from winnow.errors import ConfigError
from winnow.train import TrainConfig, load_config, write_config


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"m": 8.0}, ["m=8.0", "m=8"]),
        ({"n": 1}, ["n=1", "2 or more"]),
        ({"m": 1}, ["m=1", "2 or more"]),
        ({"m": 1.5}, ["m=1.5", "fraction"]),
        ({"m": 0.0}, ["m=0.0", "above 0"]),
        ({"m": "few"}, ["m='few'", "whole number", "fraction"]),
        ({"n": -3}, ["n=-3", "at least two", "2 or more"]),
        ({"out": ""}, ["out=''", "folder"]),
        ({"betas": [0.9]}, ["betas=[0.9]", "two numbers", "below 1"]),
        ({"betas": [0.9, 0.9, 0.9]}, ["betas=[0.9, 0.9, 0.9]", "two numbers"]),
        ({"pass_at_k": ["one"]}, ["pass_at_k=['one']", "whole numbers"]),
        ({"trackers": ["tensorbord"]}, ["trackers=['tensorbord']", "tensorboard"]),
        ({"top_p": 0.9}, ["top_p=0.9", "full distribution", "eval_top_p"]),
        ({"top_k": 5}, ["top_k=5", "full distribution"]),
        ({"budget_unit": "tokens"}, ["tokens_per_step"]),
        ({"budget_unit": "tokens", "tokens_per_step": 10, "max_new_tokens": 8}, ["tokens_per_step=10"]),
        ({"tokens_per_step": 100}, ["budget_unit"]),
        ({"pass_at_k": [8], "eval_samples": 4}, ["8", "eval_samples=4"]),
        ({"betas": [0.9, 1.0]}, ["betas"]),
        ({"lora_alpha": 8.0}, ["lora_rank"]),
        ({"prompts_per_step": 0}, ["prompts_per_step=0"]),
        ({"lr": "fast"}, ["lr='fast'", "number"]),
        ({"dtype": "float8"}, ["dtype='float8'", "bfloat16"]),
        ({"promps_per_step": 4}, ["promps_per_step", "did you mean 'prompts_per_step'"]),
    ],
)
def test_wrong_settings_are_named(values, words):
    with pytest.raises(ConfigError) as caught:
        TrainConfig(**values)
    for word in words:
        assert word in str(caught.value)


def test_every_wrong_setting_gets_a_line():
    with pytest.raises(ConfigError) as caught:
        TrainConfig(lr=-1, slots=0)
    assert len(str(caught.value).splitlines()) == 2


def test_a_setting_that_is_wrong_in_two_ways_gets_one_line():
    with pytest.raises(ConfigError) as caught:
        TrainConfig(betas=["a", "b"], m="few")
    assert [line.partition("=")[0] for line in str(caught.value).splitlines()] == ["m", "betas"]


def test_every_setting_is_described():
    assert all(field.description for field in TrainConfig.model_fields.values())


def test_flags_win_over_the_file_and_both_over_the_defaults(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("n = 4\nlr = 0.01\n[task_options]\nspread = 0.2\ntrain_size = 10\n")
    config, provenance = load_config(path, {"n": "8", "task_options.spread": "0.7"})
    assert (config.n, config.lr, config.temperature) == (8, 0.01, 1.0)
    assert config.task_options == {"spread": 0.7, "train_size": 10}
    assert provenance["n"] == "flag" and provenance["lr"] == "file" and provenance["temperature"] == "default"
    assert provenance["task_options.spread"] == "flag" and provenance["task_options.train_size"] == "file"


def test_flags_inside_tables_are_read_as_values():
    config, _ = load_config(None, {"recipe_options.gate": "zero_signal", "task_options.drop_bad_rows": "true"})
    assert config.recipe_options == {"gate": "zero_signal"} and config.task_options == {"drop_bad_rows": True}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_varience = true", ["run.toml", "max_varience"]),
        ("recipee = 'grpo'", ["run.toml", "recipee", "did you mean 'recipe'"]),
        ("lr = ", ["run.toml", "TOML"]),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path, text, words):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, {})
    for word in words:
        assert word in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such configuration file"):
        load_config(tmp_path / "nothing.toml", {})


def test_an_unknown_flag_gets_a_suggestion():
    with pytest.raises(ConfigError, match="did you mean 'max_grad_norm'"):
        load_config(None, {"max_grad_nrm": 1})


def test_the_written_file_reads_back_and_names_its_sources(tmp_path):
    overrides = {
        "task": 'a "quoted" name',
        "pass_at_k": [1, 2],
        "trackers": [],
        "betas": (0.8, 0.95),
        "m": 0.25,
        "task_options.columns": ["a", "b"],
        "recipe_options.gate": "zero_signal",
    }
    config, provenance = load_config(None, overrides)
    path = tmp_path / "config.toml"
    path.write_text(write_config(config, provenance))
    again, _ = load_config(path, {})
    assert again == config
    text = path.read_text()
    assert "# n is not set" in text and "m = 0.25  # flag" in text and "lr = 0.0002  # default" in text
    assert tomllib.loads(text)["recipe_options"] == {"gate": "zero_signal"}


def test_without_a_limit_the_run_has_the_default_number_of_steps():
    assert TrainConfig().limits == {"steps": 150}
    assert TrainConfig(rollouts=500).limits == {"rollouts": 500}


def test_an_option_inside_an_option_is_set_by_its_path():
    options = "task_options.reward_options"
    config, _ = load_config(None, {f"{options}.extract": "lenient", f"{options}.n": 1})
    assert config.task_options == {"reward_options": {"extract": "lenient", "n": 1}}
