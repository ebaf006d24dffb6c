import itertools

import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.batch import funnel
from winnow.errors import ConfigError
from winnow.objective.config import Totals
from winnow.observed import Observed
from winnow.selection.dppo import Dppo, low_rows, to_keep


class Fixed:
    """A generator of which every draw is known: one permutation, or one number per row."""

    def __init__(self, order=None, numbers=None):
        self.order, self.numbers = order, numbers

    def permutation(self, items):
        return np.asarray(items)[list(self.order)]

    def random(self, size):
        return np.asarray(self.numbers)


def every_fixed(low):
    """Yield (generator, probability) of every order of the low rows."""
    orders = list(itertools.permutations(range(low)))
    return [(Fixed(order=order), 1 / len(orders)) for order in orders]


def every_independent(size, pruning):
    """Yield (generator, probability) of every pattern of draws below or above the pruning rate."""
    for pattern in itertools.product((False, True), repeat=size):
        chance = np.prod([1 - pruning if kept else pruning for kept in pattern])
        yield Fixed(numbers=[1.0 if kept else 0.0 for kept in pattern]), chance


def expected(rule, advantages, draws):
    """Return the expectation of the weighted advantages that stay, row by row."""
    groups, total, mass = np.zeros(len(advantages), int), np.zeros(len(advantages)), 0.0
    for rng, chance in draws:
        kept = rule(np.zeros(len(advantages)), groups, rng, advantages=np.asarray(advantages))
        total[kept.rows] += chance * kept.weights * np.asarray(advantages)[kept.rows]
        mass += chance
    assert mass == pytest.approx(1)
    return total


DP1 = np.array([1, -2, 0.5, 3])  # low: 0 and 2


def test_dp1_low_rows():
    assert low_rows(np.abs(DP1), None).tolist() == [True, False, True, False]


def test_dp1_fixed_size():
    assert expected(Dppo(0.5), DP1, every_fixed(2)).sum() == pytest.approx(2.5)
    assert all(len(Dppo(0.5)(DP1, [0] * 4, rng, advantages=DP1).rows) == 3 for rng, _ in every_fixed(2))


def test_dp1_independent():
    draws = every_independent(4, 0.5)
    assert expected(Dppo(0.5, draw="independent"), DP1, draws).sum() == pytest.approx(2.5)


def test_dp1_deterministic_removal_is_biased():
    assert DP1[~low_rows(np.abs(DP1), None)].sum() == 1.0


@pytest.mark.parametrize("low", range(1, 6))
@pytest.mark.parametrize("pruning", [0.0, 0.3, 0.5, 0.7, 0.9])
def test_every_row_keeps_its_expectation(low, pruning):
    advantages = np.concatenate((np.linspace(0.1, 0.2, low), [5.0, -6.0]))
    assert expected(Dppo(pruning), advantages, every_fixed(low)) == pytest.approx(advantages)
    draws = every_independent(low + 2, pruning)
    assert expected(Dppo(pruning, draw="independent"), advantages, draws) == pytest.approx(advantages)


def test_the_loss_of_the_recipe_is_unbiased():
    recipe = winnow.recipe("dppo")
    rewards = np.array([1.0, 0, 0, 0, 1, 1, 0, np.nan])
    told = [np.array([0] * 4 + [1] * 4), rewards, rewards, np.array([3, 4, 5, 6, 2, 3, 4, 9])]
    gradient = np.random.default_rng(0).normal(size=8)  # any function of the row
    seen = Observed(2)
    seen.add(told[0], rewards)

    def loss(rule, rng):
        batch = funnel(rule, seen, told, rng)
        summed = (batch.weights * batch.advantages * gradient[batch.rows] * told[3][batch.rows]).sum()
        totals = Totals(batch.kept_rows, batch.kept_tokens, batch.full_rows, batch.full_tokens)
        return summed / rule.objective.divisor(totals)

    full = loss(recipe.override(prune_rollouts=0.0), np.random.default_rng(0))
    draws = every_fixed(3 + 2)  # the three wrong ones of the first group, the two right ones of the second
    assert sum(chance * loss(recipe, rng) for rng, chance in draws) == pytest.approx(full)
    assert len({round(loss(recipe, rng), 9) for rng, _ in draws}) > 1
    kept = recipe.override(denominator="kept")
    assert sum(chance * loss(kept, rng) for rng, chance in draws) != pytest.approx(full)


@pytest.mark.parametrize("seed", range(20))
def test_ragged_groups_in_any_order(seed):
    rng = np.random.default_rng(seed)
    groups, rewards = rng.integers(-3, 4, 60), rng.integers(0, 5, 60) / 4
    advantages = winnow.advantage.grpo(rewards, groups)
    kept = Dppo(0.6)(rewards, groups, rng, advantages=advantages)
    assert np.array_equal(kept.rows, np.unique(kept.rows))
    for label in np.unique(groups):
        rows = np.flatnonzero(groups == label)
        size = np.abs(advantages[rows])
        low = size < size.mean() - 1e-9
        here = np.isin(kept.rows, rows)
        assert set(rows[~low]) <= set(kept.rows)
        assert here.sum() == (~low).sum() + to_keep(low.sum(), 0.6)
        assert kept.weights[here].sum() == pytest.approx(len(rows))


def test_equal_advantages_lose_nothing():
    for rewards in ([1, 1, 0, 0], [1, 1, 1, 1], [0.9] * 7):
        advantages = winnow.advantage.grpo(np.array(rewards, float))
        kept = Dppo(0.9)(rewards, [0] * len(rewards), np.random.default_rng(0), advantages=advantages)
        assert kept.rows.tolist() == list(range(len(rewards))) and set(kept.weights) == {1.0}


def test_batch_scope_compares_rows_of_all_groups():
    groups, advantages = [0, 0, 1, 1], np.array([0.1, -0.1, 3.0, -3.0])
    rng = np.random.default_rng(0)
    assert len(Dppo(0.5)(advantages, groups, rng, advantages=advantages).rows) == 4
    kept = Dppo(0.5, scope="batch")(advantages, groups, rng, advantages=advantages)
    assert len(kept.rows) == 3 and sorted(kept.weights) == [1, 1, 2]


def test_to_keep():
    assert [int(to_keep(low, 0.5)) for low in range(6)] == [0, 1, 1, 2, 2, 3]
    assert int(to_keep(10, 0.9)) == 1 and int(to_keep(5, 0.8)) == 1 and int(to_keep(3, 0.99)) == 1


def test_settings_and_worlds():
    for wrong in ({"prune_rollouts": 1.0}, {"draw": "first"}, {"scope": "device"}):
        with pytest.raises(ConfigError):
            Dppo(**wrong)
    check_worlds(winnow.recipe("dppo"))
    check_worlds(winnow.recipe("dppo", draw="independent", scope="batch"))
    assert len(Dppo()([], [], np.random.default_rng(0), advantages=np.zeros(0)).rows) == 0
