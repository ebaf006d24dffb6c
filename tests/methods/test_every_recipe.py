"""What holds for every recipe there is, and for every one to come: budgets, fates, order, precision, memory.

A new recipe is in all of these tests at once. Where one of them cannot hold for it, it is named in one of the tables
below with the reason; a name that stands in a table and passes nevertheless fails its test.
"""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from tests.methods.played import named, play, run, through_json, world

from winnow.budget import Budget
from winnow.columns import needed
from winnow.curriculum.epochs import Epochs
from winnow.registry import names
from winnow.settings import PARTS, settings_of
from winnow.testing import reference

KEEPS_THE_FIRST = "keeps the first right and the first wrong rows, as its source does"
FIRST_COME = {
    "reinforce-ada-pos": KEEPS_THE_FIRST,
    "reinforce-ada-balanced": KEEPS_THE_FIRST,
    "dppo": "drops rows at random: one number of the generator per row in the order told",
    "branch": "continuations are counted in the order of the rollouts that they continue",
    "trace": "continuations are counted in the order of the rollouts that they continue",
    "vineppo": "continuations are counted in the order of the rollouts that they continue",
}
"""Recipes in which the order of results inside a wave has a say."""
FROM_ZERO = {
    "gcpo": "right answers are worth more the higher the reward itself",
    "maxrl": "divides by the mean reward",
    "nsr": "rewards are in [0, 1] by definition",
    "w-reinforce": "rewards are in [0, 1] by definition",
    "raft": "the worth of a row is its reward",
    "reinforce-rej": "the worth of a row is its reward",
}
"""Recipes in which the reward 0 has a meaning."""
SUCCESSES = {
    "cue-grpo": "majorities of right answers are told from majorities of wrong ones",
    "prime": "its gate admits prompts by their success rate",
    "difficulty-band": "its gate admits prompts by their success rate",
    "ar3po": "prompts without a success go on",
    "reinforce-ada-pos": "draws until there are successes",
    "reinforce-ada-balanced": "draws until there are successes and failures",
    "trace": "continues rollouts where success is uncertain",
    "pilot-commit": "screens by success rate",
    "winnow": "weighs prompts by their success rate",
}
"""Recipes that count outcomes above 0.5 where no verdict is told beside the reward."""
WIDEST = 110
WORLDS = ("graded", "mixed", "abstaining", "tied", "tokens")

pytestmark = pytest.mark.filterwarnings("error", "ignore:every group has size 1")
every = pytest.mark.parametrize("name", names())


def every_but(*tables):
    """Parametrise over all recipes; those in a table have to fail."""
    reasons = {name: reason for table in tables for name, reason in table.items()}
    fails = lambda reason: pytest.mark.xfail(strict=True, raises=(AssertionError, ValueError), reason=reason)
    cases = [pytest.param(name, marks=fails(reasons[name])) if name in reasons else name for name in names()]
    return pytest.mark.parametrize("name", cases)


def test_the_tables_name_recipes_that_exist():
    assert {*FIRST_COME, *FROM_ZERO, *SUCCESSES} <= set(names())


@every
def test_budgets_fates_and_finite_numbers(name):
    recipe = named(name)
    own_signal = getattr(recipe.advantage, "own_signal", False)
    own_signal = own_signal or needed(recipe.advantage) or recipe.objective.flow_beta > 0
    for task in map(world, WORLDS):
        for seed in range(2):
            # Recipes that compare prompts do without vectors too.
            done = play(recipe.fresh(), task, seed, features=seed == 0)
            batch, ledger = done.batch, done.batch.ledger
            where = f"{task.name}, seed {seed}"
            tokens = sum(task.length(*draw) for draw in done.drawn)
            if task.budget.tokens is None:
                spent = len(done.drawn), task.budget.rollouts
            else:
                spent = tokens, task.budget.tokens
            assert spent[0] <= spent[1], where
            assert spent[0] == spent[1] or batch.reason, where
            assert ledger.rollouts == len(done.drawn) == len(batch.fates) and ledger.tokens == tokens, where
            fates = ledger.unscorable + ledger.gated + ledger.discarded + ledger.no_signal + ledger.trained
            assert fates == ledger.rollouts and ledger.selected == len(batch.rows), where
            assert int(batch.counts.sum()) == ledger.rollouts, where
            unscorable = [task.reward(*draw) is None for draw in done.drawn]
            assert [fate == "unscorable" for fate in batch.fates] == unscorable, where
            assert not any(unscorable[row] for row in batch.rows), where
            assert np.isfinite(batch.advantages).all() and np.isfinite(batch.weights).all(), where
            assert (batch.weights >= 0).all(), where
            assert batch.prompts.tolist() == [done.drawn[row][0] for row in batch.rows], where
            if task.name == "tied" and not own_signal:
                assert ledger.trained == 0, where
            if task.name in ("graded", "mixed"):
                assert ledger.trained > 0, where


@every
def test_the_reference_of_adapters_plays_the_same_step(name):
    for kind in WORLDS[:-1]:
        found, told = play(named(name), world(kind), 3), reference(named(name), world(kind), 3)
        live = {draw: value for draw, value in told.trained.items() if value != 0}
        assert found.drawn == told.drawn and found.worth == live, kind


@every
@pytest.mark.parametrize("spare", [1, 3, 7])
def test_a_budget_that_no_group_size_divides_is_spent_exactly(name, spare):
    recipe = named(name)
    budget = Budget(rollouts=8 * recipe.allocation.n + spare)
    for kind in ("mixed", "graded"):
        done = play(recipe.fresh(), replace(world(kind), budget=budget), spare)
        assert len(done.drawn) == budget.rollouts or (len(done.drawn) < budget.rollouts and done.batch.reason)


@every_but(FIRST_COME)
def test_the_order_of_telling_changes_nothing(name):
    if not named(name).barrier:
        pytest.skip("first come: each decision uses what has come so far")
    for kind in ("graded", "abstaining"):
        plain = play(named(name), world(kind), 1)
        for order in range(3):
            moved = play(named(name), world(kind), 1, shuffle=order)
            assert moved.worth == pytest.approx(plain.worth, rel=1e-9, abs=1e-12), f"{kind}, order {order}"


@every
def test_the_order_of_the_prompts_changes_nothing(name):
    recipe, task = named(name), world("graded")
    if recipe.pool > 1:
        pytest.skip("opens prompts in the order offered, or at random")
    plain = play(recipe.fresh(), task, 1)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(task.prompts).tolist()
        moved = play(recipe.fresh(), task, 1, ids=order)
        assert moved.worth == pytest.approx(plain.worth, rel=1e-9, abs=1e-12), seed


@every
def test_float32_rewards_are_the_same_numbers(name):
    single = lambda rewards: rewards.astype(np.float32)
    double = lambda rewards: rewards.astype(np.float32).astype(np.float64)
    found, expected = (play(named(name), world("graded"), 1, change=change) for change in (single, double))
    assert found.drawn == expected.drawn and found.worth == expected.worth


def offset_changes_nothing(name, **told):
    """Rewards are multiples of 1/1024, so that the offset loses none of their digits."""
    steps = lambda rewards: np.round(rewards * 1024) / 1024
    moved = lambda rewards: steps(rewards) + 1e6
    found, expected = (play(named(name), world("graded"), 1, change=change, **told) for change in (moved, steps))
    assert found.drawn == expected.drawn and found.worth == pytest.approx(expected.worth, abs=1e-6)
    assert expected.worth


@every_but(FROM_ZERO)
def test_an_offset_of_the_rewards_changes_nothing_beside_verdicts(name):
    offset_changes_nothing(name, verdicts=True)


@every_but(FROM_ZERO, SUCCESSES)
def test_an_offset_of_the_rewards_changes_nothing(name):
    offset_changes_nothing(name)


@every
def test_settings_and_description(name):
    recipe = named(name)
    described = recipe.describe()
    assert json.loads(json.dumps(described)) == described and described["name"] == name
    for key in sorted(recipe.settings()):
        values = [getattr(part, key) for part in (getattr(recipe, role) for role in PARTS) if key in settings_of(part)]
        for value in values or [recipe.allocation.n]:
            same = recipe.override(**{key: value})
            assert same.describe() == described, key
            assert [getattr(same, item.name) for item in fields(same)[1:]] == [
                getattr(recipe, item.name) for item in fields(recipe)[1:]
            ], key
    assert recipe.override(n=2 * recipe.allocation.n).allocation.n == 2 * recipe.allocation.n


@every
def test_a_run_cut_in_the_middle_goes_on_as_the_whole_one(name):
    whole = run(named(name), range(6), epochs=Epochs(40, seed=0))
    first, second, epochs = named(name), named(name), Epochs(40, seed=0)
    before = run(first, range(3), epochs=epochs)
    state = through_json(first.state_dict())
    second.load_state_dict(state)
    assert through_json(second.state_dict()) == state
    assert before + run(second, range(3, 6), epochs=epochs) == whole
    if named(name).remembers:
        assert state != through_json(named(name).state_dict())


@every
def test_about_tells_everything_in_lines(name):
    about = named(name).about
    for item in fields(about):
        text = getattr(about, item.name)
        assert text and text == text.strip() and "\n" not in text, item.name
        assert len(text) <= WIDEST, f"{item.name} has {len(text)} characters"
    assert about.status in ("paper", "decision", "experimental")
    assert "arXiv" in about.paper or "ours" in about.paper
