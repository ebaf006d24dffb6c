"""Knapsack RL: the oracles of section 18.8, the rules for prompts outside the knapsack, exact budgets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow
from winnow import Budget
from winnow.allocation.knapsack import Knapsack
from winnow.allocation.knapsack_buffer import Buffer
from winnow.allocation.knapsack_value import need, rises, value
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.testing import reference, worlds

NAN = float("nan")
VALUES = {  # p: value of 2, 4, 8, 16, 32 rollouts
    0.1: [0.01458, 0.02785, 0.04613, 0.06599, 0.07822],
    0.3: [0.06174, 0.11051, 0.13852, 0.14651, 0.147],
    0.5: [0.0625, 0.10938, 0.12402, 0.125, 0.125],
    0.9: [0.00162, 0.00309, 0.00513, 0.00733, 0.00869],
}


def told(ids, successes, valid):
    """The feedback of a step, as far as the rule reads it."""
    successes, valid = np.asarray(successes), np.asarray(valid)
    nothing, mean = np.zeros(0), successes / np.maximum(valid, 1)
    return Feedback(
        Candidates.of(ids), valid, valid, successes, mean, mean > 0, mean, nothing, nothing, np.zeros(0, int)
    )


def best_value(rates, total, low, high):
    """The most any split is worth, by a dynamic program that assumes nothing about the values."""
    best = {0: 0.0}
    for rate in rates:
        fresh = {}
        for used, worth in best.items():
            for n in range(low, min(high, total - used) + 1):
                fresh[used + n] = max(fresh.get(used + n, -1.0), worth + float(value(np.array(rate), n)))
        best = fresh
    return best[total]


@pytest.mark.parametrize("rate", VALUES)
def test_k1_values(rate):
    assert value(np.array(rate), np.array([2, 4, 8, 16, 32])) == pytest.approx(VALUES[rate], abs=5.1e-6)


def test_k2_split():
    rates = np.array([0.1, 0.3, 0.5, 0.9])
    counts = Knapsack(most=16).plan(rates, 32)
    assert counts.tolist() == [14, 9, 7, 2]
    assert value(rates, counts).sum() == pytest.approx(0.3282018, abs=5e-8)
    assert best_value(rates, 32, 2, 16) == pytest.approx(0.3282018, abs=5e-8)


def test_no_split_is_worth_more():
    rng = np.random.default_rng(0)
    for _ in range(60):
        rates = rng.integers(1, 16, int(rng.integers(1, 6))) / 16
        total = int(rng.integers(2 * len(rates), 12 * len(rates) + 1))
        counts = Knapsack(most=12).plan(rates, total)
        assert counts.sum() == total and counts.min() >= 2 and counts.max() <= 12
        assert value(rates, counts).sum() == pytest.approx(best_value(rates, total, 2, 12), rel=1e-12)


def test_values_are_concave_from_one_rollout_on_and_not_from_none():
    """p^n q + q^n p falls with n; a first rollout adds 0, the second 2pq: hence the bound of 2 (oracle K2)."""
    rates, n = np.linspace(0.001, 0.999, 333), np.arange(1, 129)
    steps = rises(rates, n)
    assert steps == pytest.approx(value(rates[:, None], n + 1) - value(rates[:, None], n), abs=1e-15)
    assert (np.diff(steps, axis=1) <= 0).all() and (steps >= 0).all()
    assert rises(np.array([0.0, 1.0]), n).max() == 0
    assert value(rates, 1) == pytest.approx(0, abs=1e-15) and (value(rates, 2) > 0).all()
    best = rates[value(rates, 10**6).argmax()]
    assert best == pytest.approx(1 / 3, abs=0.003)


def test_need():
    """Rollouts until the rarer outcome is seen nine times in ten: 1 - max(p, q)^n >= 0.9."""
    assert need(np.array([0.5, 0.1, 0.9]), 0.9).tolist() == [4, 22, 22]
    for rate in (0.2, 0.37, 0.81):
        n = int(need(np.array([rate]), 0.9)[0])
        assert 1 - max(rate, 1 - rate) ** n >= 0.9 > 1 - max(rate, 1 - rate) ** (n - 1)


def test_prompts_outside_the_knapsack():
    rule = Knapsack()
    assert rule.plan(np.full(5, NAN), 43).tolist() == [9, 9, 9, 8, 8]  # nothing known: uniform
    assert rule.plan(np.array([NAN, 1.0, 0.5]), 24).tolist() == [8, 2, 14]
    assert rule.plan(np.array([NAN, 1.0, 0.0, 0.03125]), 32).tolist() == [8, 2, 2, 20]  # needs 73: no surplus
    assert rule.plan(np.array([NAN, 1.0, 0.0, 0.5]), 32).tolist() == [
        8,
        2,
        18,
        4,
    ]  # needs 4, the surplus of 16 goes to p = 0
    assert rule.plan(np.array([0.0, 1.0, 0.0]), 24).tolist() == [11, 2, 11]
    assert rule.plan(np.array([1.0, 1.0, 1.0]), 25).tolist() == [9, 8, 8]
    assert Knapsack(most=10).plan(np.array([0.0, 0.5, 1.0]), 40).tolist() == [
        10 + 8,
        4 + 8,
        2 + 8,
    ]  # all capped: evenly


def test_a_budget_below_a_pair_each():
    rates = np.array([1.0, 0.0, NAN, 0.9, 0.4])
    expected = {1: 4, 2: 4, 4: 3, 6: 2, 8: 1}  # budget and the last prompt that it serves
    for total, last in expected.items():
        counts = Knapsack().plan(rates, total)
        assert counts.sum() == total and np.flatnonzero(counts).min() == last
        assert set(counts.tolist()) <= ({0, 2} if total > 1 else {0, 1})
    assert Knapsack().plan(rates, 9).tolist() == [0, 2, 2, 2, 3]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([NAN, 0.0, 1.0, 0.0625, 0.25, 0.5, 0.9375]), min_size=1, max_size=9),
       st.integers(1, 400), st.integers(8, 20))  # fmt: skip
def test_every_budget_is_spent_exactly(rates, total, most):
    counts = Knapsack(most=most).plan(np.array(rates), total)
    assert counts.sum() == total and counts.min() >= 0
    if total >= 2 * len(rates):
        assert counts.min() >= 2
    if 2 * len(rates) <= total <= 8 * len(rates) and not any(rate in (0.0, 1.0) for rate in rates):
        assert counts.max() <= most or all(np.isnan(rate) or counts[i] == most for i, rate in enumerate(rates))


def test_the_window_holds_the_last_outcomes():
    window = Buffer(16)
    ids = np.array([7, 8])
    window.push(ids, np.array([8, 3]), np.array([8, 7]))
    assert window.rates(np.array([7, 8, 9]), known=8) == pytest.approx([1.0, NAN, NAN], nan_ok=True)
    window.push(ids, np.array([0, 1]), np.array([8, 1]))
    assert window.rates(ids, 8) == pytest.approx([0.5, 0.5])
    window.push(ids, np.array([0, 0]), np.array([8, 16]))
    assert window.rates(ids, 8) == pytest.approx([0.0, 0.0])  # all that was right has left the window
    window.push(ids, np.array([40, 10]), np.array([80, 20]))
    assert window.rates(ids, 8) == pytest.approx([0.5, 0.5])
    window.push(ids, np.array([0, 0]), np.array([0, 4]))  # nothing scorable changes nothing
    assert window.rates(ids, 8) == pytest.approx([0.5, 6 / 16])


def test_the_window_is_that_of_evenly_mixed_outcomes():
    """Against a list: k outcomes enter as one, the j-th right where floor((j+1) s/k) steps; the last 16 stay."""
    rng = np.random.default_rng(1)
    window, lists = Buffer(16), {prompt: [] for prompt in range(6)}
    for _ in range(40):
        drawn = rng.choice(6, 3, replace=False)
        valid = rng.integers(0, 25, 3)
        successes = rng.integers(0, valid + 1)
        window.push(drawn, successes, valid)
        for prompt, s, k in zip(drawn.tolist(), successes.tolist(), valid.tolist(), strict=True):
            lists[prompt] += [(j + 1) * s // k - j * s // k for j in range(k)]
            assert sum(lists[prompt][len(lists[prompt]) - k :]) == s
        rates = [np.mean(told[-16:]) if len(told) >= 8 else NAN for told in lists.values()]
        assert window.rates(np.arange(6), 8) == pytest.approx(rates, nan_ok=True)


def play(step, outcomes, rng, shuffle=False):
    while not step.done:
        rows = [(prompt, k) for prompt, count in step.ask() for k in range(count)]
        if shuffle:
            rows = [rows[place] for place in rng.permutation(len(rows))]
        step.tell([prompt for prompt, _ in rows], [outcomes(prompt, k) for prompt, k in rows])
    return step.finish()


def test_a_run():
    """Prompt 0 is never scored, 1 never solved, 2 always, 3 in one of four; shuffled rows change nothing."""

    def outcome(prompt, k):
        return [None, 0.0, 1.0, float(k % 4 == 0)][prompt]

    for shuffle in (False, True):
        recipe, rng = winnow.recipe("knapsack", n=8), np.random.default_rng(0)
        counts = [
            play(recipe.begin(4, ids=[5, 6, 7, 8], seed=k), outcome, rng, shuffle).counts.tolist() for k in range(3)
        ]
        # 2 of 8 need ln 0.1 / ln (3/4), so 9 rollouts; of these 3 are right, and 5 of the last 16 need 7.
        assert counts == [[8, 8, 8, 8], [8, 13, 2, 9], [8, 15, 2, 7]]


def test_budgets_and_checkpoints():
    rng = np.random.default_rng(3)
    recipe = winnow.recipe("knapsack", n=6)
    for seed in range(40):
        ids = rng.choice(20, int(rng.integers(1, 9)), replace=False)
        budget = Budget(rollouts=int(rng.integers(1, 150)))
        again = winnow.recipe("knapsack", n=6)
        again.load_state_dict(recipe.state_dict())
        coins = rng.random((len(ids), 200)) < ids[:, None] / 20
        first, second = (
            play(one.begin(len(ids), budget=budget, ids=ids, seed=seed), lambda p, k, c=coins: float(c[p, k]), rng)
            for one in (recipe, again)
        )
        assert first.ledger.rollouts == budget.rollouts and first.reason == ""
        assert first.counts.tolist() == second.counts.tolist()
        assert recipe.state_dict() == again.state_dict()


def test_order_of_prompts_decides_ties_only():
    rates = np.array([0.25, 0.5, NAN, 0.0, 0.75, 1.0, 0.125])
    rule = Knapsack()
    for order in itertools.islice(itertools.permutations(range(7)), 0, 5040, 97):
        shuffled = list(order)
        assert np.abs(rule.plan(rates[shuffled], 60) - rule.plan(rates, 60)[shuffled]).max() <= 1
        assert rule.plan(rates[shuffled], 56)[shuffled.index(3)] == rule.plan(rates, 56)[3]


def test_every_world():
    for world in worlds():
        recipe = winnow.recipe("knapsack")
        for seed in range(3):
            played = reference(recipe, world, seed)
            assert world.budget.rollouts in (None, len(played.drawn))


def test_settings():
    recipe = winnow.recipe("knapsack", n=16, most=64)
    assert (recipe.allocation.n, recipe.allocation.largest) == (16, 64) and recipe.allocation.with_n(4).n == 4
    for bad in ({"n": 1}, {"n": 8, "most": 7}, {"window": 53}, {"window": 7}, {"known": 0}, {"confidence": 1.0}):
        with pytest.raises(ConfigError):
            Knapsack(**bad)
