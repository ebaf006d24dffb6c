import itertools
import math

import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage.gcpo import Gcpo, exact_shapley, sampled_shapley
from winnow.errors import ConfigError

E = np.array([[2, 0], [1, 0], [0, 3], [1, 1]])  # lengths do not matter
HALF = [math.log(3) / 2] * 2
CASES = [  # rewards, phi, centred, scaled by the population deviation
    ([1, 1, 1, 0], [*HALF, math.log(2), 0], [0.101366, 0.101366, 0.245207, -0.447940],
     [0.382224, 0.382224, 0.924608, -1.689056]),
    ([1, 1, 1, 1], [0.506977, 0.506977, 0.615698, 0.510414], [-0.028039, -0.028039, 0.080682, -0.024603],
     [-0.601669, -0.601669, 1.731266, -0.527928]),
    ([0, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4),
]  # fmt: skip


def gram(rewards, vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * np.asarray(rewards, float)[:, None]
    return unit @ unit.T


@pytest.mark.parametrize(("rewards", "phi", "centred", "scaled"), CASES)
def test_d9(rewards, phi, centred, scaled):
    assert exact_shapley(gram(rewards, E)) == pytest.approx(phi, abs=1e-6)
    assert Gcpo()(rewards, [7] * 4, embeddings=E) == pytest.approx(centred, abs=1e-6)
    found = Gcpo(scaled=True)(rewards, [7] * 4, embeddings=E)  # sample deviation, eps 1e-4
    deviation = np.std(phi, ddof=1)
    wanted = np.array(scaled) * np.std(phi) / (deviation + 1e-4) if deviation else scaled
    assert found == pytest.approx(wanted, abs=1e-5)


def by_orders(matrix):
    """The mean over every order of what each element adds."""
    n = len(matrix)
    value = lambda some: np.linalg.slogdet(np.eye(len(some)) + matrix[np.ix_(some, some)])[1] if some else 0.0
    phi = np.zeros(n)
    for order in itertools.permutations(range(n)):
        for place, element in enumerate(order):
            phi[element] += value(list(order[: place + 1])) - value(list(order[:place]))
    return phi / math.factorial(n)


@pytest.mark.parametrize("seed", range(3))
def test_exact_values_are_those_of_all_orders_and_sampling_comes_near(seed):
    rng = np.random.default_rng(seed)
    matrix = gram(rng.random(5), rng.normal(size=(5, 3)))
    phi = exact_shapley(matrix)
    assert phi == pytest.approx(by_orders(matrix))
    assert phi.sum() == pytest.approx(np.linalg.slogdet(np.eye(5) + matrix)[1])
    sampled = sampled_shapley(matrix, 4000, seed)
    assert sampled == pytest.approx(phi, abs=0.02) and sampled.sum() == pytest.approx(phi.sum())


def test_large_groups_are_sampled_and_order_and_copies_do_not_matter():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20, 4))
    vectors[5] = 3 * vectors[11]
    rewards, groups = np.ones(20), np.zeros(20, int)
    found = Gcpo()(rewards, groups, embeddings=vectors)
    assert found[5] == found[11] and np.ptp(found) > 0
    order = rng.permutation(20)
    assert Gcpo()(rewards, groups, embeddings=vectors[order]) == pytest.approx(found[order], abs=1e-9)
    assert Gcpo(shuffle_seed=1)(rewards, groups, embeddings=vectors) != pytest.approx(found, abs=1e-9)
    same = Gcpo(scaled=True)(rewards, groups, embeddings=np.tile([0.3, 0.7], (20, 1)))
    assert same.tolist() == [0.0] * 20
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    exact = Gcpo()(rewards[:12], groups[:12], embeddings=vectors[:12])
    rough = sampled_shapley(unit[:12] @ unit[:12].T, 4000, 0)
    assert exact == pytest.approx(rough - rough.mean(), abs=0.02)


def test_wrong_rollouts_and_empty_embeddings_add_nothing():
    found = Gcpo()([1.0, 1.0, 0.0], [0] * 3, embeddings=[[1, 0], [0, 0], [5, 5]])
    assert found == pytest.approx(np.array([2, -1, -1]) * math.log(2) / 3)


def test_what_it_cannot_take_is_refused():
    for wrong in ({"orders": 0}, {"shuffle_seed": -1}):
        with pytest.raises(ConfigError):
            Gcpo(**wrong)
    with pytest.raises(ValueError, match="rewards >= 0"):
        Gcpo()([-1.0, 1.0], [0, 0], embeddings=np.eye(2))
    with pytest.raises(ValueError, match="finite embeddings"):
        Gcpo()([0.0, 1.0], [0, 0], embeddings=[[np.nan], [1]])
    assert Gcpo()([np.nan, 1.0], [0, 0], embeddings=[[np.nan], [1]]).tolist() == [0.0, 0.0]


def test_worlds():
    check_worlds(winnow.recipe("gcpo"), tied=True)
    check_worlds(winnow.recipe("gcpo", n=14, orders=16), tied=True)
