"""Recipes that keep spare prompts: what is not used goes back to the curriculum, and runs stay exact."""

import json

import pytest

from tests.train.conftest import Notes, make_policy, make_task
from winnow.errors import ConfigError
from winnow.train import Trainer

DAPO = {"recipe": "dapo", "n": 4, "prompts_per_step": 3, "recipe_options": {"pool": 3}}


def train(config, **run):
    return Trainer(config, progress=Notes(), task=make_task(train=20), policy=make_policy()).run(**run)


def rollouts_of(folder):
    return [json.loads(line) for line in (folder / "rollouts.jsonl").read_text().splitlines()]


def test_every_prompt_is_offered_once_per_epoch_and_only_opened_ones_count(settings, tmp_path):
    summary = train(settings(**DAPO, steps=6))
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()][1:]
    drawn = rollouts_of(tmp_path / "run")
    assert summary["rollouts"] == len(drawn) == sum(record["rollouts"] for record in records)
    order = []
    for step, record in enumerate(records, start=1):
        prompts = list(dict.fromkeys(row["prompt_id"] for row in drawn if row["step"] == step))
        assert record["prompts"] == len(prompts) <= 9
        assert record["group/min"] == record["group/max"] == 4
        dead = sum(
            len({row["outcome"] for row in drawn if row["step"] == step and row["prompt_id"] == prompt}) == 1
            for prompt in prompts
        )
        assert record["signal/no_signal"] == pytest.approx(dead / len(prompts))
        assert len(prompts) - dead <= 3
        order += prompts
    assert len(set(order[:20])) == min(20, len(order))


def test_resumed_equals_uninterrupted(settings, tmp_path):
    whole = train(settings(**DAPO, steps=6, out=str(tmp_path / "whole")))
    train(settings(**DAPO, steps=4, out=str(tmp_path / "cut")))
    resumed = train(settings(**DAPO, steps=6, out=str(tmp_path / "cut")), resume=True)
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert rollouts_of(tmp_path / "cut") == rollouts_of(tmp_path / "whole")


@pytest.mark.parametrize("barrier", [True, False])
def test_a_budget_of_the_run_is_spent_exactly(settings, barrier):
    options = {**DAPO, "recipe_options": {"pool": 3, "barrier": barrier}}
    summary = train(settings(**options, steps=None, rollouts=101))
    assert summary["rollouts"] in (100, 101)
    assert summary["stopped"] == "limit rollouts"


def test_more_spares_than_the_data_has_is_no_error(settings):
    assert train(settings(**{**DAPO, "recipe_options": {"pool": 50}}, steps=2))["steps"] == 2


def test_a_falling_rate_needs_a_known_number_of_steps(settings):
    with pytest.raises(ConfigError, match="set steps too"):
        train(settings(**DAPO, steps=None, rollouts=100, lr_schedule="cosine"))
