import numpy as np

import winnow
from tests.replay.logs import coins
from winnow.replay.advise import candidates, distinct
from winnow.replay.play import Table


def test_recipes_that_decide_alike_are_tried_once():
    made = [winnow.recipe(name) for name in ("grpo", "rloo", "dapo", "dr-grpo", "pods")]
    assert [recipe.name for recipe in distinct(made)] == ["grpo", "dapo", "pods"]


def test_sizes_that_a_log_or_a_budget_cannot_fill_are_not_tried():
    table = Table(coins(np.full(20, 0.5), 8))
    tried = candidates(["grpo", "pods"], table, 16, 0.5)
    assert {(recipe.name, recipe.allocation.n) for recipe in tried} == {
        ("grpo", 4), ("grpo", 8), ("grpo", 16), ("pods", 4), ("pods", 8), ("pods", 16)
    }  # fmt: skip
    assert {recipe.allocation.n for recipe in candidates(["grpo"], table, 1024, 0.0)} == {4, 8}
