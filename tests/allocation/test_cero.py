"""CERO: the oracles of section 18.8, the paper's loop written out, exact budgets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow
from winnow import Budget
from winnow.allocation.cero import Cero
from winnow.allocation.cero_prices import demand, hashed_rank, in_order, spread
from winnow.errors import ConfigError
from winnow.testing import reference, worlds


def test_e1_posterior_spread():
    assert spread([1, 3, 1], [1, 3, 9]) == pytest.approx([0.16667, 0.21429, 0.08182], abs=5e-6)


def test_e2_demand():
    prices = np.array([0.06, 0.05, 0.02, 0.001, 0.0001, 0.0])
    assert demand(prices, np.full(6, 0.05), 100) == pytest.approx([0, 0, 18.3258, 78.2405, 100, 100], abs=5e-5)
    assert demand(np.array([0.0, 0.5]), np.zeros(2), 100).tolist() == [0, 0]


def test_demand_maximises_utility_minus_price():
    rng = np.random.default_rng(0)
    units = np.linspace(0, 30, 30001)
    for _ in range(50):
        price, rate = rng.random(2) * [0.3, 0.5]
        gain = 1 - np.exp(-rate * units) - price * units
        found = float(demand(np.array([price]), np.array([rate]), 30)[0])
        assert found == pytest.approx(units[gain.argmax()], abs=2e-3)


class Loop:
    """The rounds of the paper over all M prompts, in plain numbers."""

    def __init__(self, prompts, rounds, budget, capacity, most, forgetting=1.0):
        self.a, self.b = [1.0] * prompts, [1.0] * prompts
        self.theta, self.nu = [4 * self.q(i) for i in range(prompts)], 0.5
        self.rounds, self.budget, self.capacity, self.most = rounds, budget, capacity, most
        self.mean, self.forgetting = rounds * budget / prompts, forgetting

    def q(self, i):
        a, b = self.a[i], self.b[i]
        return a * b / ((a + b) * (a + b + 1))

    def wish(self, i):
        c, theta, most = 4 * self.q(i) / self.mean, self.theta[i] / self.mean, self.rounds * self.most
        if theta >= c:
            return 0.0
        return most if theta <= c * math.exp(-c * most) else math.log(c / theta) / c

    def plan(self, order):
        units, left = [0] * len(self.theta), self.capacity
        for i in sorted(order, key=lambda i: -round(self.theta[i], 12)):
            if self.theta[i] > self.nu:
                units[i] = min(self.most, left)
                left -= units[i]
        return units

    def learn(self, units, right, wrong):
        pace = 1 / math.sqrt(self.rounds)
        wishes = [self.wish(i) / self.rounds for i in range(len(self.theta))]
        for i, theta in enumerate(self.theta):
            self.theta[i] = min(1.0, max(0.0, theta - pace * (units[i] - wishes[i]) / self.most))
            self.a[i] = 1 + self.forgetting * (self.a[i] - 1) + right[i]
            self.b[i] = 1 + self.forgetting * (self.b[i] - 1) + wrong[i]
        scale = max(self.budget, self.capacity - self.budget)
        self.nu = min(1.0, max(0.0, self.nu - pace * (self.budget - sum(units)) / scale))


@pytest.mark.parametrize(("prompts", "rounds", "share", "capacity"), [(16, 30, 0.5, 17), (128, 12, 0.5, 132)])
def test_the_paper_s_rounds(prompts, rounds, share, capacity):
    """All prompts offered in every round: prices and posteriors are those of the paper's loop.

    With 128 prompts, n=4 and units of 4 rollouts this is the paper's step: budget 128, capacity 132, groups of 8.
    """
    rng = np.random.default_rng(1)
    recipe = winnow.recipe("cero", n=4, share=share, rounds=rounds)
    rule = recipe.allocation
    ids = np.arange(prompts)
    budget = prompts * 4 // rule.unit
    assert rule.unit == 4
    loop = Loop(prompts, rounds, budget, capacity, 2)
    order = np.argsort(hashed_rank(ids, 0)).tolist()
    rates = rng.beta(0.7, 0.7, prompts)
    for seed in range(rounds):
        units = loop.plan(order)
        assert rule.planned(ids, prompts * 4).tolist() == units
        step = recipe.begin(prompts, seed=seed, ids=ids)
        right, wrong = np.zeros(prompts), np.zeros(prompts)
        for prompt, count in step.ask():
            outcomes = (rng.random(count) < rates[prompt]).astype(float)
            step.tell([prompt] * count, outcomes)
            right[prompt] += outcomes.sum()
            wrong[prompt] += count - outcomes.sum()
        batch = step.finish()
        planned = np.minimum(units, budget) * 4
        if sum(units) <= budget:  # the plan is carried out; what it leaves goes on in the same order
            assert (batch.counts >= planned).all()
        assert batch.counts.sum() == prompts * 4
        # Feedback names the prompts served; those that were not move all the same.
        loop.learn(units, right, wrong)
        assert rule.prices(ids) == pytest.approx(loop.theta, abs=1e-12)
        assert rule.spreads(ids) == pytest.approx([loop.q(i) for i in range(prompts)])
        assert rule._budget_price["nu"] == pytest.approx(loop.nu, abs=1e-12)
    assert len(set(np.round(loop.theta, 6))) > prompts // 2  # the prices did part


def test_forgetting():
    recipe = winnow.recipe("cero", n=4, share=1.0, forgetting=0.5, prior=2.0)
    for _ in range(2):
        step = recipe.begin(1, ids=[3])
        ((_, count),) = step.ask()
        step.tell([0] * count, [1.0, 0.0, 0.0, None])
        step.finish()
    a, b = 2 + 0.5 * 1 + 1, 2 + 0.5 * 2 + 2
    assert recipe.allocation.spreads(np.array([3])) == pytest.approx([float(spread(a, b))])


def test_ties_go_by_a_fixed_permutation():
    ids = np.arange(40)
    plans = [Cero(permutation=k).plan(ids, 320) for k in (0, 0, 1)]
    assert plans[0].tolist() == plans[1].tolist() != plans[2].tolist()
    shuffled = np.random.default_rng(0).permutation(40)
    assert Cero().plan(ids[shuffled], 320).tolist() == plans[0][shuffled].tolist()
    assert len(set(hashed_rank(ids, 5).tolist())) == 40
    assert sorted(set(plans[0].tolist())) == [0, 16]
    rule = Cero()
    rule._memory.set("price", ids, np.where(ids % 2, 0.1 + 0.2, 0.3))  # equal but for the last bit
    assert rule.plan(ids, 320).tolist() == plans[0].tolist()


def test_who_is_served():
    rule = Cero(n=8)  # units of 8, two at most
    rule._memory.set("price", np.arange(4), [0.9, 0.2, 0.7, 0.4])
    ids = np.arange(4)
    cases = {
        1: [1, 0, 0, 0], 7: [7, 0, 0, 0], 8: [8, 0, 0, 0], 9: [9, 0, 0, 0], 16: [16, 0, 0, 0], 17: [17, 0, 0, 0],
        18: [16, 0, 2, 0], 30: [16, 0, 14, 0], 32: [16, 0, 16, 0], 63: [16, 15, 16, 16],
        64: [16, 16, 16, 16], 65: [17, 16, 16, 16], 90: [23, 22, 23, 22],
    }  # fmt: skip
    for total, counts in cases.items():
        assert rule.plan(ids, total).tolist() == counts, total
    assert rule.planned(ids, 32).tolist() == [2, 0, 2, 0]  # capacity 5, but only two prices are above nu
    rule._budget_price["nu"] = 0.3
    assert rule.planned(ids, 32).tolist() == [2, 0, 2, 1]
    assert in_order(5, 4, 2).tolist() == [2, 2, 1, 0]


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 9), st.integers(1, 200), st.integers(2, 9), st.sampled_from([0.25, 0.5, 1.0]), st.integers(1, 3))
def test_every_budget_is_spent_exactly(prompts, total, n, share, most):
    rule = Cero(n=n, share=share, most=most)
    rule._memory.set("price", np.arange(prompts), np.random.default_rng(total).random(prompts))
    counts = rule.plan(np.arange(prompts), total)
    assert counts.sum() == total and counts.min() >= 0
    if 2 <= total <= n * prompts:
        assert counts.max() <= rule.largest
        assert counts[counts > 0].min() >= 2


def play(recipe, ids, seed, rates, budget=None):
    rng = np.random.default_rng(seed)
    step = recipe.begin(len(ids), ids=ids, seed=seed, budget=budget)
    while not step.done:
        for prompt, count in step.ask(limit=5):
            step.tell([prompt] * count, (rng.random(count) < rates[prompt]).astype(float))
    return step.finish()


def test_dead_prompts_get_less_and_come_back():
    recipe = winnow.recipe("cero", rounds=40)
    ids = np.arange(16)
    rates = np.where(ids < 8, 0.0, 0.5)
    counts = np.array([play(recipe, ids, seed, rates).counts for seed in range(40)])
    assert (counts.sum(1) == 128).all()
    assert counts[:, :8].sum() < 0.25 * counts[:, 8:].sum()
    assert (counts[:, :8] > 0).sum(0).min() >= 4  # q never reaches 0: each is tried again


def test_an_abandoned_step_and_steps_that_overlap():
    recipe, plain = winnow.recipe("cero"), winnow.recipe("cero")
    ids = np.arange(8)
    recipe.begin(8, ids=ids + 100)  # begun, never finished
    play(recipe, ids, 0, np.full(8, 0.5))
    play(plain, ids, 0, np.full(8, 0.5))
    assert recipe.state_dict() == plain.state_dict()
    both = [recipe.begin(8, ids=ids + 8 * k, seed=k) for k in (1, 2)]
    for step in both:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [0.0, 1.0] * (count // 2))
    for step in both:
        step.finish()
    assert set(recipe.allocation._memory.ids.tolist()) == set(range(24))  # those not served moved, too


def test_checkpoints_and_budgets():
    rng = np.random.default_rng(2)
    recipe = winnow.recipe("cero", n=6)
    for seed in range(40):
        ids = rng.choice(20, int(rng.integers(1, 9)), replace=False)
        budget = Budget(rollouts=int(rng.integers(1, 150)))
        again = winnow.recipe("cero", n=6)
        again.load_state_dict(recipe.state_dict())
        first, second = (play(one, ids, seed, ids / 20, budget) for one in (recipe, again))
        assert first.ledger.rollouts == budget.rollouts and first.reason == ""
        assert first.counts.tolist() == second.counts.tolist()
        assert recipe.state_dict() == again.state_dict()


def test_unscorable_rollouts_say_nothing():
    recipe = winnow.recipe("cero", n=4)
    step = recipe.begin(2, ids=[1, 2])
    for prompt, count in step.ask():
        step.tell([prompt] * count, [None] * count)
    step.finish()
    assert recipe.allocation.spreads(np.array([1, 2])) == pytest.approx([1 / 6, 1 / 6])
    assert sorted(recipe.allocation.prices(np.array([1, 2])).round(3)) != [0.667, 0.667]  # the rollouts were spent


def test_every_world():
    for world in worlds():
        recipe = winnow.recipe("cero")
        for seed in range(3):
            played = reference(recipe, world, seed)
            assert world.budget.rollouts in (None, len(played.drawn))


def test_settings():
    recipe = winnow.recipe("cero", n=12, most=3, share=0.25)
    assert (recipe.allocation.unit, recipe.allocation.largest) == (16, 49)
    assert recipe.allocation.with_n(6).unit == 8
    assert Cero(n=9, share=1.0).unit == 5
    for bad in ({"n": 1}, {"most": 0}, {"share": 0.0}, {"share": 1.5}, {"rounds": 0}, {"saturation": 0.0},
                {"forgetting": 1.1}, {"prior": 0.0}, {"prior": math.inf}, {"permutation": -1}):  # fmt: skip
        with pytest.raises(ConfigError):
            Cero(**bad)
