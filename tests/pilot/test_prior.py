import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import beta, betabinom

from winnow.pilot import prior as module
from winnow.pilot.prior import Prior, fit, refit

RNG = np.random.default_rng(7)


def one(a, b):
    return Prior(np.array([1.0]), np.array([a]), np.array([b]))


def two():
    return Prior(np.array([0.4, 0.6]), np.array([1.0, 12.0]), np.array([15.0, 3.0]))


def test_ties_equals_the_integral():
    rates = np.linspace(0, 1, 200_001)[1:-1]
    density = 0.4 * beta.pdf(rates, 1, 15) + 0.6 * beta.pdf(rates, 12, 3)
    for n in (2, 7, 32):
        assert two().ties(n) == pytest.approx(np.trapezoid(density * (rates**n + (1 - rates) ** n), rates), abs=1e-4)


def test_the_posterior_is_that_of_bayes():
    after = two().posterior(1, 6)
    likelihood = betabinom.pmf(1, 6, two().a, two().b) * two().weights
    assert after.weights == pytest.approx(likelihood / likelihood.sum())
    assert (after.a.tolist(), after.b.tolist()) == ([2.0, 13.0], [20.0, 8.0])
    assert one(2.0, 3.0).posterior(0, 4).mean == pytest.approx(2 / 9)
    assert one(1.0, 1.0).above(0.25) == pytest.approx(0.75)


def test_the_gradient_is_that_of_the_likelihood():
    c, s, w = np.array([0.0, 3, 8, 5]), np.array([8.0, 8, 8, 7]), np.array([4.0, 2, 3, 1])
    for size in (1, 2):
        x = RNG.normal(size=3 * size - 1)
        error = check_grad(lambda x: module._loss(x, c, s, w)[0], lambda x: module._loss(x, c, s, w)[1], x)
        assert error < 1e-4


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.6), (2.0, 5.0), (0.8, 0.8)])
def test_one_distribution_is_recovered(a, b):
    passed = RNG.binomial(8, RNG.beta(a, b, 20_000))
    found = fit(passed, np.full(20_000, 8))
    assert found.mean == pytest.approx(a / (a + b), abs=0.01)
    for n in (2, 8, 16, 32):
        assert found.ties(n) == pytest.approx(one(a, b).ties(n), abs=0.015)


def test_two_distributions_are_recovered():
    true = two()
    rates = np.where(RNG.random(20_000) < 0.4, RNG.beta(1, 15, 20_000), RNG.beta(12, 3, 20_000))
    found = fit(RNG.binomial(8, rates), np.full(20_000, 8))
    assert len(found.weights) == 2
    for n in (2, 8, 16, 32):
        assert found.ties(n) == pytest.approx(true.ties(n), abs=0.015)


def test_counted_cells_are_the_prompts_they_stand_for():
    passed, scorable = RNG.binomial(4, RNG.beta(1, 2, 300)), np.full(300, 4)
    cells, counts = np.unique(passed, return_counts=True)
    whole, counted = fit(passed, scorable), fit(cells, np.full(len(cells), 4), counts)
    assert whole.ties(16) == pytest.approx(counted.ties(16), abs=1e-4)
    assert refit(counted, cells, np.full(len(cells), 4), counts).ties(16) == pytest.approx(counted.ties(16), abs=1e-4)


@pytest.mark.parametrize(("passed", "ties"), [(0, 1.0), (8, 1.0), (4, 0.0)])
def test_the_edges_have_a_fit(passed, ties):
    found = fit([passed], [8], [500])
    assert found.ties(16) == pytest.approx(ties, abs=0.01)


def test_single_draws_are_refused():
    with pytest.raises(ValueError, match="two scorable"):
        fit([1, 0], [1, 1])
