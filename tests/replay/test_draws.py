import numpy as np
import pytest

from tests.replay.logs import coins
from winnow.pilot.prior import fit
from winnow.replay import Log
from winnow.replay.belief import Belief
from winnow.replay.draws import Donors, Draws


def draws(log, visits, seed=0):
    belief = Belief.of(log)
    donors = Donors(log, belief) if belief.model is not None else None
    return Draws(log, np.asarray(visits), belief, donors, np.random.default_rng(seed))


def test_recorded_rollouts_come_once_each_in_random_order():
    log = coins([0.2, 0.5, 0.9], 6)
    orders = set()
    for seed in range(5):
        hand = draws(log, [2, 0, 2], seed)
        first, second = hand.take(np.array([4, 1, 0])), hand.take(np.array([2, 5, 6]))
        owner, rows = (np.concatenate(pair) for pair in zip(first, second, strict=True))
        assert hand.further == 0
        for slot, visit in enumerate([2, 0, 2]):
            assert sorted(rows[owner == slot]) == list(range(6 * visit, 6 * visit + 6))
        orders.add(tuple(rows[owner == 0]))
    assert len(orders) > 1


def test_subsets_without_replacement_tie_as_often_as_they_should():
    log = Log.of([0] * 8, [1, 1, 1, 0, 0, 0, 0, 0])
    _, rows = draws(log, np.zeros(4000, int)).take(np.full(4000, 4))
    ties = np.ptp(log.reward[rows].reshape(4000, 4), axis=1) == 0
    assert np.mean(ties) == pytest.approx(5 / 70, abs=0.015)


def test_further_rollouts_of_pass_and_fail_follow_the_posterior_not_the_sample():
    rates = np.random.default_rng(1).beta(0.6, 1.2, 4000)
    log = coins(rates, 8)
    truth = 1 - np.mean(rates**32 + (1 - rates) ** 32)
    hand = draws(log, np.arange(4000))
    owner, rows = hand.take(np.full(4000, 32))
    assert hand.further == 4000 * 24
    groups = log.judged[rows].reshape(4000, 32)
    varied = float((groups.max(axis=1) > groups.min(axis=1)).mean())
    assert varied == pytest.approx(truth, abs=0.02)
    recorded = log.judged.reshape(4000, 8)
    assert varied > float((recorded.max(axis=1) > recorded.min(axis=1)).mean()) + 0.05
    np.testing.assert_array_equal(owner, np.repeat(np.arange(4000), 32))


def test_a_further_rollout_is_one_of_the_prompt_with_that_outcome_where_it_has_one():
    log = Log.of([0, 0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8])
    for seed in range(20):
        _, rows = draws(log, [0], seed).take(np.array([40]))
        assert set(rows.tolist()) <= {0, 1, 2}


def test_graded_outcomes_repeat_recorded_ones_and_ties_stay_ties():
    log = Log.of([0, 0, 1, 1], [0.1, 0.7, 0.4, 0.4])
    hand = draws(log, [0, 1])
    _, rows = hand.take(np.array([10, 10]))
    assert hand.further == 16
    assert set(rows[:10]) == {0, 1} and set(rows[10:]) == {2, 3}


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.3, 1.0)])
def test_further_rollouts_are_unscorable_as_often_as_recorded_ones(values):
    rng = np.random.default_rng(0)
    rewards = rng.choice(values, 400 * 8)
    rewards[::4] = np.nan
    log = Log.of(np.repeat(np.arange(400), 8), rewards)
    _, rows = draws(log, np.arange(400)).take(np.full(400, 40))
    assert np.isnan(log.judged[rows]).mean() == pytest.approx(0.25, abs=0.01)


def test_spread_is_the_posterior_mean_for_pass_and_fail_and_unbiased_for_grades():
    rates = np.random.default_rng(0).beta(1, 1, 5000)
    belief = Belief.of(coins(rates, 6))
    assert belief.spread.mean() == pytest.approx(np.mean(4 * rates * (1 - rates)), abs=0.01)
    assert belief.sigma.mean() == pytest.approx(np.mean(np.sqrt(4 * rates * (1 - rates))), abs=0.01)
    top = belief.spread >= np.quantile(belief.spread, 0.9)
    assert belief.spread[top].mean() == pytest.approx(np.mean((4 * rates * (1 - rates))[top]), abs=0.02)
    grades = np.random.default_rng(0).random((2000, 4))
    graded = Belief.of(Log.of(np.repeat(np.arange(2000), 4), grades.ravel()))
    assert graded.model is None
    assert graded.spread.mean() == pytest.approx(4 / 12, abs=0.01)


def test_pass_rates_are_drawn_from_the_posterior():
    log = coins(np.random.default_rng(3).beta(0.5, 0.8, 3000), 8)
    belief = Belief.of(log)
    passed = np.add.reduceat(log.judged, log.start)
    prior = fit(passed, np.full(3000, 8))
    for count in (0, 3):
        visits = np.repeat(np.flatnonzero(passed == count)[:1], 20_000)
        drawn = belief.model.draw(visits, np.random.default_rng(0))
        assert drawn.mean() == pytest.approx(prior.posterior(count, 8).mean, abs=0.005)


def test_a_log_without_any_signal_has_no_model():
    assert Belief.of(Log.of([0, 0, 1, 1], [1.0] * 4)).model is None
