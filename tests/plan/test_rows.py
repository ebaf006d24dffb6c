"""The sizes of a step, held against steps that are played."""

import numpy as np
import pytest

import winnow
from tests.methods.played import named
from winnow import Budget
from winnow.plan import recalled_rows, recipe_step, rollouts_range, rows_at_most
from winnow.registry import names

SPARES = [name for name in names() if named(name).pool > named(name).oversample]


@pytest.mark.parametrize("name", SPARES)
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_steps_with_spares_stay_in_their_range(name, rate):
    recipe, prompts, rng = named(name), 6, np.random.default_rng(0)
    least, most = rollouts_range(recipe, prompts)
    at_hand = prompts * recipe.pool
    budget = Budget(rollouts=at_hand // recipe.oversample * recipe.allocation.n)
    step = recipe.begin(at_hand, ids=range(at_hand), budget=budget)
    drawn = 0
    while not step.done:
        owners = [prompt for prompt, count in step.ask() for _ in range(count)]
        step.tell(owners, (rng.random(len(owners)) < rate).astype(float), tokens=[3] * len(owners))
        drawn += len(owners)
    batch = step.finish()
    assert least <= drawn <= most
    assert batch.kept_rows <= rows_at_most(recipe, recipe_step(recipe, prompts))
    if rate in (0.0, 1.0) and name.startswith(("dapo", "greso")):
        assert drawn == most


def test_ranges_of_the_recipes():
    assert rollouts_range(winnow.recipe("greso"), 16) == (128, 256)
    assert rollouts_range(winnow.recipe("mopps"), 16) == (128, 128)
    assert rollouts_range(winnow.recipe("pilot-commit"), 16) == (16 * 3 * 8, 16 * (3 * 8 + 24))


def test_recalled_rows_are_rows():
    recipe = winnow.recipe("repo", k=4)
    assert recalled_rows(recipe, 16) == 64
    assert rows_at_most(recipe, recipe_step(recipe, 16)) == 128 + 64
    assert recalled_rows(winnow.recipe("grpo"), 16) == 0


def played(recipe, prompts, budget, rate=0.5):
    """Play one step; return rollouts drawn and rows kept."""
    rng, at_hand = np.random.default_rng(0), prompts * recipe.pool
    step = recipe.begin(at_hand, ids=range(at_hand), budget=budget)
    while not step.done:
        owners = [prompt for prompt, count in step.ask() for _ in range(count)]
        step.tell(owners, (rng.random(len(owners)) < rate).astype(float), tokens=[3] * len(owners))
    batch = step.finish()
    return batch.ledger.rollouts, batch.kept_rows


@pytest.mark.parametrize("name", ["grpo", "pods", "cppo", "vigor", "vigor+pods", "vip", "knapsack", "mopps", *SPARES])
@pytest.mark.parametrize("share", [0.25, 0.6, 1, 2, 4])
def test_a_budget_is_in_the_sizes_of_a_step(name, share):
    recipe, prompts = named(name), 6
    budget = Budget(rollouts=max(2 * prompts, int(share * prompts * recipe.allocation.n)))
    least, most = rollouts_range(recipe, prompts, budget)
    plan = recipe_step(recipe, prompts, budget=budget)
    for rate in (0.0, 0.5):
        drawn, rows = played(recipe, prompts, budget, rate)
        assert least <= drawn <= most <= budget.rollouts
        assert rows <= rows_at_most(recipe, plan, budget)
    if name in ("grpo", "pods", "vigor", "vigor+pods", "vip", "knapsack"):
        assert drawn == plan.rollouts == least == most


def test_rows_of_a_budget_by_hand():
    grpo, pods, spread = winnow.recipe("grpo"), winnow.recipe("pods"), winnow.recipe("vigor+pods", m=12)
    rows = [recipe_step(each, 16, budget=Budget(rollouts=size)).rows
            for each, size in ((grpo, 64), (grpo, 256), (pods, 64), (pods, 512), (spread, 256))]  # fmt: skip
    assert rows == [64, 128, 64, 128, 192]
    assert recipe_step(grpo, 16, budget=Budget(rollouts=40), micro_batch=8).micro_steps == 5
    assert recipe_step(grpo, 16, budget=Budget(tokens=5000)) == recipe_step(grpo, 16)
