"""The checks for adapters: they pass loops that are right, in any order, and name what is wrong with the others."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from winnow.testing import RECIPES, Played, check, reference, worlds


def shuffled(recipe, world, seed, limit=None, **faults):
    """A sampler whose rollouts finish in random order, some at a time; ``faults`` break it in one way."""
    rng = np.random.default_rng(seed + 1)
    step = recipe.begin(world.prompts, budget=world.budget, seed=seed)
    flying, told, count = [], [], Counter()
    while not step.done:
        for prompt, wanted in step.ask(limit):
            for _ in range(wanted):
                flying.append((prompt, count[prompt]))
                count[prompt] += 1
        rng.shuffle(flying)
        flying = [tuple(map(int, draw)) for draw in flying]
        some = len(flying) if recipe.barrier else max(1, len(flying) // 2)
        done, flying = flying[:some], flying[some:]
        rewards = [world.reward(*draw) for draw in done]
        if faults.get("none_as_zero"):
            rewards = [reward or 0.0 for reward in rewards]
        step.tell([prompt for prompt, _ in done], rewards, tokens=[world.length(*draw) for draw in done])
        told += done
    batch = step.finish()
    worth = batch.advantages * (1 if faults.get("no_weights") else batch.weights) * faults.get("scale", 1)
    trained = {told[row]: value for row, value in zip(batch.rows.tolist(), worth.tolist(), strict=True)}
    if faults.get("wasted"):
        told += [(0, count[0])]
    if faults.get("everything"):
        trained |= {draw: 1.0 for draw in told if world.reward(*draw) is not None and draw not in trained}
    return Played(told, trained)


@pytest.mark.parametrize("limit", [None, 5])
def test_a_right_loop_passes_whatever_the_order(limit):
    check(lambda recipe, world, seed: shuffled(recipe, world, seed, limit))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"none_as_zero": True}, "unscorable"),
        ({"wasted": True}, "97 rollouts were drawn, the recipe grants 96"),
        ({"everything": True}, "trains and must not"),
        ({"scale": 2}, "advantage x weight"),
    ],
)
def test_a_wrong_loop_is_named(fault, message):
    with pytest.raises(AssertionError, match=message):
        check(lambda recipe, world, seed: shuffled(recipe, world, seed, **fault))


def test_weights_left_out_are_found():
    import winnow

    weighted = winnow.recipe("vigor", weight="prompt")
    check(shuffled, recipes=[weighted])
    with pytest.raises(AssertionError, match="advantage x weight"):
        check(lambda *step: shuffled(*step, no_weights=True), recipes=[weighted])


def test_worlds_are_what_they_say():
    import winnow

    named = {world.name: world for world in worlds()}
    for name in RECIPES:
        assert all(value == 0 for value in reference(winnow.recipe(name), named["tied"], 0).trained.values())
        assert any(value != 0 for value in reference(winnow.recipe(name), named["graded"], 0).trained.values())
    assert any(named["abstaining"].reward(0, draw) is None for draw in range(20))


@pytest.mark.parametrize("name", ["cue-grpo", "gcpo", "prof", "hive", "vip", "branch", "vineppo"])
def test_the_reference_plays_recipes_that_need_more_than_rewards(name):
    import winnow

    recipe, graded = winnow.recipe(name), worlds()[0]
    assert recipe.needs or recipe.wants or recipe.compares or recipe.branches
    played = reference(recipe, graded, 0)
    assert len(set(played.drawn)) == len(played.drawn) <= graded.budget.rollouts
    assert any(played.trained.values())
    again = reference(winnow.recipe(name), graded, 0)
    assert again == played


def test_columns_belong_to_the_draw_and_features_to_the_prompt():
    from winnow.columns import COLUMNS

    small, large = worlds(prompts=3)[0], worlds(prompts=5, seed=1)[1]
    draws = [(0, 0), (2, 5), (0, 0)]
    found = small.columns(COLUMNS, draws)
    assert found == large.columns(COLUMNS, draws) and found.keys() == COLUMNS.keys()
    for values in found.values():
        assert values[0] == values[2] and len(values) == 3
    assert found["embeddings"][0] != found["embeddings"][1] and small.columns((), draws) == {}
    assert small.features.shape == (3, 4) and np.array_equal(small.features, large.features[:3])
    assert np.allclose(np.linalg.norm(small.features, axis=1), 1)


def test_parts_are_imported_when_they_are_used():
    code = "import sys, winnow; assert 'winnow.reward' not in sys.modules; winnow.reward.Pool, winnow.testing.check"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'rewards'"):
        import winnow

        _ = winnow.rewards
