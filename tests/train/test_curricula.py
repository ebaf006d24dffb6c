"""Recipes that choose prompts, in the embedded trainer: steps are as large as they should be."""

from __future__ import annotations

import pytest

from tests.train.conftest import make_task
from tests.train.test_trainer import lines, train


@pytest.mark.parametrize("name", ["mopps", "hive", "greso"])
def test_candidates_that_are_passed_over_cost_no_rollouts(settings, name):
    summary = train(
        settings(recipe=name, n=4, prompts_per_step=3, steps=None, rollouts=50, eval_every=0), task=make_task(train=24)
    )
    drawn = [record["rollouts"] for record in lines(summary["out"])[1:]]
    if name == "greso":  # groups without signal are replaced, up to twice the prompts
        assert max(drawn) <= 24 and sum(drawn) / len(drawn) > 4
    else:
        assert all(0 < rollouts <= 12 for rollouts in drawn) and drawn[0] == 12
    assert 48 <= summary["rollouts"] <= 50


def test_an_allocation_gets_the_budget_of_the_prompts_that_are_opened(settings):
    options = {"allocation": "vigor"}
    summary = train(settings(recipe="mopps", n=8, prompts_per_step=3, recipe_options=options, steps=2, eval_every=0))
    assert [record["rollouts"] for record in lines(summary["out"])[1:]] == [24, 24]
