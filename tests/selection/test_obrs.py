import numpy as np
import pytest

from winnow.errors import ConfigError
from winnow.selection.obrs import (
    accept_probability,
    expected_acceptance,
    kappa,
    keep_mask,
    threshold_for,
    token_weights,
    top_union_acceptance,
)

SAMPLED, TARGET = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.25, 0.35, 0.3, 0.1])
Q, P = np.log(SAMPLED), np.log(TARGET)
CASES = [  # lambda, accept, Z, law of accepted tokens, weights, KL(p || law)
    (0.5, [1, 1, 1, 1], 1, [0.5, 0.3, 0.15, 0.05], [0.5, 1.166667, 2, 2], 0.157925),
    (0.8, [0.625, 1, 1, 1], 0.8125, [0.384615, 0.369231, 0.184615, 0.061538], [0.65, 0.947917, 1.625, 1.625], 0.067786),
    (1, [0.5, 1, 1, 1], 0.75, [0.333333, 0.4, 0.2, 0.066667], [0.75, 0.875, 1.5, 1.5], 0.043530),
    (1.5, [0.333333, 0.777778, 1, 1], 0.6, [0.277778, 0.388889, 0.25, 0.083333], [0.9, 0.9, 1.2, 1.2], 0.009712),
    (2, [0.25, 0.583333, 1, 1], 0.5, [0.25, 0.35, 0.3, 0.1], [1, 1, 1, 1], 0),
    (3, [0.166667, 0.388889, 0.666667, 0.666667], 0.333333, [0.25, 0.35, 0.3, 0.1], [1, 1, 1, 1], 0),
]


@pytest.mark.parametrize(("threshold", "accept", "z", "law", "weights", "divergence"), CASES)
def test_d7(threshold, accept, z, law, weights, divergence):
    chance = accept_probability(P, Q, threshold)
    assert chance == pytest.approx(accept, abs=1e-6)
    acceptance = expected_acceptance(P, Q, threshold)
    assert acceptance == pytest.approx(z, abs=1e-6)
    assert SAMPLED * chance / acceptance == pytest.approx(law, abs=1e-6)
    found = token_weights(P, Q, np.full(4, acceptance), threshold)
    assert found == pytest.approx(weights, abs=1e-6)
    assert SAMPLED * chance / acceptance * found == pytest.approx(TARGET)
    assert (TARGET * np.log(found)).sum() == pytest.approx(divergence, abs=1e-6)


@pytest.mark.parametrize(("budget", "threshold"), [(0.9, 0.625), (0.6, 1.5), (1.0, 0.5), (0.4, 2.5), (0.01, 100.0)])
def test_d7_threshold_for_a_budget(budget, threshold):
    assert threshold_for(P, Q, budget) == pytest.approx(threshold, rel=1e-6)
    assert threshold_for([P, P], [Q, Q], budget) == pytest.approx(threshold, rel=1e-6)


def test_d7_union_of_the_likeliest():
    assert top_union_acceptance(P, Q, 1.0, k=2) == pytest.approx(0.70)
    assert top_union_acceptance([P, P], [Q, Q], 1.0, k=20) == pytest.approx([0.75, 0.75])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("budget", [0.3, 0.8, 0.99])
def test_random_vocabularies_meet_their_budget_and_speak_for_the_target(seed, budget):
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(2, 5, 30)) * 2
    p, q = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    threshold = threshold_for(p, q, budget)
    acceptance = expected_acceptance(p, q, threshold)
    assert acceptance.mean() == pytest.approx(budget, abs=1e-6)
    approximate = top_union_acceptance(p, q, threshold, 8)
    assert (approximate <= acceptance + 1e-12).all()
    law = np.exp(q) * accept_probability(p, q, threshold) / acceptance[:, None]
    assert law * token_weights(p, q, acceptance[:, None], threshold) == pytest.approx(np.exp(p))


def test_kappa_brings_an_approximate_z_back():
    rng = np.random.default_rng(0)
    tokens = rng.choice(4, 40_000, p=SAMPLED)
    mask = keep_mask(accept_probability(P[tokens], Q[tokens], 1.0), rng)
    assert mask.mean() == pytest.approx(0.75, abs=0.01)
    rough = np.full(len(tokens), top_union_acceptance(P, Q, 1.0, k=2))
    assert kappa(mask, rough) * 0.70 == pytest.approx(0.75, abs=0.01)
    assert kappa([], []) == 1.0


def test_tokens_that_cannot_occur():
    never = np.array([-np.inf, np.log(0.5), np.log(0.5)])
    p, q = never[[1, 0, 2]], never
    assert expected_acceptance(p, q, 1.0) == pytest.approx(0.5)
    assert accept_probability(p, q, 1.0).tolist() == [1.0, 0.0, 1.0]
    assert threshold_for(p, q, 0.5) == pytest.approx(1.0)
    assert threshold_for(p, q, 0.25) == pytest.approx(2.0)


def test_numbers_out_of_range_are_refused():
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ConfigError):
            expected_acceptance(P, Q, wrong)
    for budget in (0.0, 1.1):
        with pytest.raises(ConfigError):
            threshold_for(P, Q, budget)
    with pytest.raises(ConfigError):
        top_union_acceptance(P, Q, 1.0, k=0)
