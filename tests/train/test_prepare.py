from __future__ import annotations

from dataclasses import replace

import pytest

from tests.train.conftest import Notes, make_policy, make_task
from winnow.errors import ConfigError, DataError
from winnow.train import TrainConfig, Trainer
from winnow.train.prepare import check_recipe, prepare


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"recipe": "pods", "n": 4, "m": 0.3}, ["m=0.3", "n=4", "keeps 1", "0.5"]),
        ({"recipe": "pods", "n": 8, "m": 0.01}, ["m=0.01", "n=8", "keeps 1", "0.25"]),
        ({"recipe": "vigor+pods", "n": 8, "m": 0.06}, ["m=0.06", "n=30", "keeps 1"]),
        ({"recipe": "pods", "n": 8, "m": 16}, ["m=16 > n=8"]),
        ({"recipe": "grpo", "n": 8, "m": 16}, ["m=16 > n=8"]),
        ({"recipe": "vigor+pods", "n": 8, "m": 31}, ["m=31", "30"]),
        ({"recipe": "grpo", "m": 2}, ["m=2", "recipe grpo", "no effect", "selection=max_variance"]),
        ({"recipe": "grpo", "recipe_options": {"m": 0.5}}, ["m=0.5", "no effect"]),
    ],
)
def test_an_m_that_cannot_train_is_refused(values, words):
    with pytest.raises(ConfigError) as caught:
        check_recipe(TrainConfig(**values))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("values", "m"),
    [
        ({"recipe": "pods", "n": 8, "m": 1.0}, 1.0),
        ({"recipe": "pods", "n": 8, "m": "1.0"}, 1.0),
        ({"recipe": "pods", "n": 8, "m": "4"}, 4),
        ({"recipe": "pods", "n": 4, "m": 0.5}, 0.5),
        ({"recipe": "vigor+pods", "n": 8, "m": 16}, 16),
        ({"recipe": "grpo", "m": 1.0}, 1.0),
        ({"recipe": "grpo", "m": 2, "recipe_options": {"selection": "max_variance"}}, 2),
    ],
)
def test_a_count_and_a_fraction_are_told_apart(values, m):
    found = check_recipe(TrainConfig(**values)).selection.m
    assert found == m and type(found) is type(m)


def test_the_whole_group_trains_for_the_fraction_one(settings):
    summary = Trainer(
        settings(recipe="pods", n=4, m=1.0, steps=1, recipe_options={"gate": "none"}),
        progress=Notes(),
        task=make_task(),
        policy=make_policy(),
    ).run()
    assert summary["ledger"]["selected"] == summary["rollouts"] == 16


def test_prompts_that_are_all_too_long_are_counted(settings):
    task = make_task()
    long = [replace(prompt, content=prompt.content * 10) for prompt in task.train]
    for rows, words in ((long, "None fit"), ([*long, task.train[0]], "1 fit")):
        with pytest.raises(DataError) as caught:
            Trainer(
                settings(max_prompt_tokens=10),
                progress=Notes(),
                task=replace(task, train=rows),
                policy=make_policy(),
            ).run()
        for word in ("12 training prompts", "max_prompt_tokens=10", "raise max_prompt_tokens", words):
            assert word in str(caught.value)


@pytest.mark.parametrize("limit", [{"steps": 3}, {"rollouts": 48}])
def test_a_run_that_comes_back_to_no_prompt_says_so_where_the_recipe_remembers(settings, limit):
    def noted(recipe, task):
        config = settings(recipe=recipe, n=4, **{"steps": None} | limit)
        return [note for note in prepare(config, task=task, policy=make_policy()).notes if "earlier visits" in note]

    (note,) = noted("repo", make_task(train=12))
    assert "makes 1 passes over the data" in note
    assert not noted("repo", make_task(train=8)) and not noted("grpo", make_task(train=12))
