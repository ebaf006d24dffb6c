import numpy as np
import pytest

from tests.pilot.tallies import drawn, tally
from winnow.pilot import fit_prior, no_signal


def test_sizes_above_k_are_marked_and_need_a_model():
    tallies = drawn(np.random.default_rng(0).beta(0.5, 0.5, 300), k=4)
    found = no_signal(tallies, (2, 4, 8), fit_prior(tallies))
    assert [(each.n, each.modelled) for each in found] == [(2, False), (4, False), (8, True)]
    assert all(each.low <= each.share <= each.high for each in found)
    assert [each.n for each in no_signal(tallies, (2, 4, 8))] == [2, 4]


def test_estimates_are_right_on_average():
    rates = np.tile([0.05, 0.3, 0.9], 20)
    truth = np.mean(rates**4 + (1 - rates) ** 4)
    found = [no_signal(drawn(rates, 6, seed), (4,))[0].share for seed in range(200)]
    assert np.mean(found) == pytest.approx(truth, abs=4 * np.std(found) / 200**0.5)


@pytest.mark.slow
def test_the_interval_holds_the_truth_as_often_as_it_says():
    a, b = 0.6, 0.9
    rates = np.random.default_rng(1).beta(a, b, 400_000)
    truth = {n: float(np.mean(rates**n + (1 - rates) ** n)) for n in (2, 16)}
    held, times = dict.fromkeys(truth, 0), 60
    for seed in range(times):
        tallies = drawn(np.random.default_rng(seed).beta(a, b, 200), 4, seed)
        for each in no_signal(tallies, (2, 16), fit_prior(tallies)):
            held[each.n] += each.low <= truth[each.n] <= each.high
    # Three standard errors of a share of 0.95 in 60.
    assert all(count / times >= 0.95 - 3 * (0.95 * 0.05 / times) ** 0.5 for count in held.values()), held


def test_prompts_with_too_few_scorable_rollouts_are_left_out():
    tallies = [tally("a", 1.0, 1.0), tally("b", 1.0, None), tally("c", 1.0, 0.0), tally("d", None, None)]
    (found,) = no_signal(tallies, (2,))
    assert (found.share, found.prompts) == (0.5, 2)


def test_graded_outcomes_are_counted_and_not_modelled():
    tallies = [tally("a", 0.2, 0.4, 0.2), tally("b", 0.0, 0.0, 0.0)]
    assert fit_prior(tallies) is None
    (found,) = no_signal(tallies, (2, 8), fit_prior(tallies))
    assert found.share == pytest.approx((1 / 3 + 1) / 2)


def test_the_same_seed_gives_the_same_interval():
    tallies = drawn(np.linspace(0, 1, 50), 4)
    assert no_signal(tallies, (2, 16), fit_prior(tallies)) == no_signal(tallies, (2, 16), fit_prior(tallies))


def test_nothing_measured_is_nothing_known():
    assert no_signal([], (2,)) == []
