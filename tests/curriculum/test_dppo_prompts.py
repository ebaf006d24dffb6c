import itertools

import numpy as np
import pytest

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.dppo_prompts import DppoPrompts
from winnow.errors import ConfigError
from winnow.feedback import Feedback


class Order:
    """A generator whose one permutation is known."""

    def __init__(self, order):
        self.order = order

    def permutation(self, items):
        return np.asarray(items)[[place for place in self.order if place < len(items)]]


def told(rule, ids, rewards):
    """Tell a rule of one step in which prompt ids[i] had the rewards rewards[i]."""
    owners = np.repeat(np.arange(len(ids)), [len(row) for row in rewards])
    flat = np.concatenate([np.asarray(row, float) for row in rewards])
    none = np.zeros(len(ids))
    rule.observe(
        Feedback(Candidates.of(ids), none, none, none, none, none > 0, none, flat, flat, owners)
    )  # fmt: skip


def with_records(records, **settings):
    rule = DppoPrompts(**settings)
    ids = np.flatnonzero(~np.isnan(records))
    rule._records.set("record", ids, np.asarray(records, float)[ids])
    return rule


RECORDS = [0.9, 0.0, np.nan, 0.8, 0.1, 0.0, 0.7, 0.0, 0.05, 0.6]


@pytest.mark.parametrize("wanted", range(1, 11))
@pytest.mark.parametrize("pruning", [0.3, 0.5, 0.7])
def test_expectation_is_the_mean_over_the_prompts_visited(wanted, pruning):
    rule = with_records(RECORDS, prune_prompts=pruning)
    gradient = np.random.default_rng(1).normal(size=len(RECORDS))
    orders = list(itertools.permutations(range(5)))
    total, sizes = 0.0, set()
    for order in orders:
        choice = rule.choose(Candidates.of(range(len(RECORDS))), wanted, Order(order))
        total += np.mean(choice.weights * gradient[choice.opened]) / len(orders)
        sizes.add((len(choice.opened), choice.visited))
        assert choice.weights.mean() == pytest.approx(1)
    ((opened, visited),) = sizes  # neither depends on the draw
    assert 1 <= opened <= wanted <= visited
    assert total == pytest.approx(gradient[:visited].mean())


def test_the_step_is_filled_up_and_what_lies_beyond_comes_again():
    choice = with_records(RECORDS).choose(Candidates.of(range(10)), 5, np.random.default_rng(0))
    assert choice.visited == 6  # high are 0, 2, 3; of the low ones 1, 4, 5 two stay; prompt 6 is high and has no room
    assert len(choice.opened) == 5 and set(choice.opened) >= {0, 2, 3}
    assert sorted(choice.weights) == pytest.approx([5 / 6] * 3 + [1.25] * 2)


def test_records_are_averages_of_the_mean_advantage():
    rule = DppoPrompts(decay=0.5)
    told(rule, [7, 8, 9], [[1, 0, 0, 1], [1, 1], [np.nan, np.nan]])
    assert rule.record(np.array([7, 8, 9])) == pytest.approx([0.865875, 0, np.nan], abs=1e-6, nan_ok=True)
    told(rule, [7, 8], [[1, 1, 1, 1], [1, 0]])
    assert rule.record(np.array([7, 8])) == pytest.approx([0.4329375, 0.3535035], abs=1e-6)


def test_nothing_is_low_before_records_nor_among_equal_ones():
    for records in ([np.nan] * 6, [0.0] * 6, [0.3] * 6):
        choice = with_records(records, prune_prompts=0.9).choose(Candidates.of(range(6)), 4, np.random.default_rng(0))
        assert choice.opened.tolist() == [0, 1, 2, 3] and choice.visited == 4 and set(choice.weights) == {1.0}


def test_switched_off_it_opens_the_first():
    choice = with_records(RECORDS, prune_prompts=0.0).choose(Candidates.of(range(10)), 4, np.random.default_rng(0))
    assert choice.opened.tolist() == [0, 1, 2, 3] and choice.visited == 4 and set(choice.weights) == {1.0}
    recipe = winnow.recipe("dppo", prune_prompts=0.0, prune_rollouts=0.0, oversample=1)
    assert recipe.pool == 1


@pytest.mark.parametrize("seed", range(5))
def test_budget_and_weights_through_the_steps_of_two_epochs(seed):
    rng = np.random.default_rng(seed)
    recipe = winnow.recipe("dppo", n=4)
    rates = rng.random(16) * (rng.random(16) < 0.5)
    for round_ in range(6):
        step = recipe.begin(16, seed=seed + round_, ids=range(16))
        requests = step.ask()
        rewards = rng.random(requests.total) < rates[np.repeat(requests.prompts, requests.counts)]
        step.tell(np.repeat(requests.prompts, requests.counts), rewards.astype(float))
        batch = step.finish()
        assert batch.counts.sum() == 4 * np.count_nonzero(batch.counts) <= 32
        if round_ == 0:
            assert batch.counts[:8].tolist() == [4] * 8
    assert batch.visited >= np.count_nonzero(batch.counts)


def test_a_resumed_run_makes_the_same_choices():
    rule, again = with_records(RECORDS), DppoPrompts()
    again.load_state_dict(rule.state_dict())
    assert again.state_dict() == rule.state_dict()
    for seed in range(5):
        one, two = (part.choose(Candidates.of(range(10)), 5, np.random.default_rng(seed)) for part in (rule, again))
        assert one.opened.tolist() == two.opened.tolist() and one.weights.tolist() == two.weights.tolist()


def test_settings_out_of_range_are_refused():
    for wrong in ({"prune_prompts": 1.0}, {"decay": 1.0}, {"oversample": 0}):
        with pytest.raises(ConfigError):
            DppoPrompts(**wrong)
