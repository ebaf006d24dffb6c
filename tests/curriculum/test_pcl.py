import numpy as np
import pytest
from tests.curriculum.pools import declared, features, feedback, play, rates, replayed

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.network import PENALTY, WIDTH, Ridge, inputs
from winnow.curriculum.pcl import Pcl
from winnow.errors import ConfigError


def test_value_is_the_minimum_of_the_discounted_squared_error():
    rng = np.random.default_rng(0)
    value, x, y = Ridge(0.8), rng.standard_normal((3, 20, 4)) / 4, rng.random((3, 20))
    for step in range(3):
        value.learn(x[step], y[step])
    # The same as ordinary least squares on scaled rows, with rows of the penalty below them.
    scale = np.sqrt(0.8 ** np.array([2, 1, 0]))[:, None]
    rows = np.concatenate(((x * scale[..., None]).reshape(60, 4), np.sqrt(PENALTY) * np.eye(4)))
    right = np.concatenate((((y - 0.5) * scale).ravel(), np.zeros(4)))
    weights = np.linalg.lstsq(rows, right, rcond=None)[0]
    assert value.rates(x[0]) == pytest.approx(np.clip(0.5 + x[0] @ weights, 0, 1))


def test_predictions_blend_the_value_with_a_fading_record():
    rule = Pcl(retain=0.5, strength=2.0)
    rule.observe(feedback([0, 1], [8, 2], 8))
    # Two prompts at rates 1 and 1/4: the sum of their distances to 1/2 is 1/4, over 2 prompts and the penalty.
    shared = 0.5 + 0.25 / (2 + PENALTY)
    found = rule.predicted(Candidates.of([1, 0, 9]))
    assert found == pytest.approx([(2 * shared + 2) / 10, (2 * shared + 8) / 10, shared])
    rule.observe(feedback([9], [4], 8))
    shared = 0.5 + 0.5 * 0.25 / (0.5 * 2 + 1 + PENALTY)
    assert rule.predicted(Candidates.of([0]))[0] == pytest.approx((2 * shared + 4) / 6)


def test_nearest_to_the_target_with_ties_by_index():
    rule = Pcl(target=0.5)
    assert rule.choose(Candidates.of(range(6)), 2, np.random.default_rng(0)).opened.tolist() == [0, 1]
    rule.observe(feedback(range(6), [0, 3, 8, 4, 8, 4], 8))
    choice = rule.choose(Candidates.of([2, 3, 0, 5, 1]), 3, np.random.default_rng(0))
    assert choice.opened.tolist() == [1, 3, 4] and choice.visited == 5


def test_unseen_prompts_are_told_apart_by_their_features():
    rng = np.random.default_rng(0)
    kinds = np.eye(3)[rng.integers(3, size=60)]
    wins = (kinds @ [0, 4, 8]).astype(int)
    rule = Pcl()
    for step in range(5):
        part = slice(12 * step, 12 * step + 12)
        rule.observe(feedback(range(12 * step, 12 * step + 12), wins[part], 8, kinds[part]))
    found = rule.predicted(Candidates.of([100, 101, 102], np.eye(3)))
    assert found[0] < 0.25 and 0.35 < found[1] < 0.65 and found[2] > 0.75
    assert rule.choose(Candidates.of([100, 101, 102], np.eye(3)), 1, rng).opened.tolist() == [1]


def test_unscorable_prompts_teach_nothing():
    rule, other = Pcl(), Pcl()
    rule.observe(feedback([0, 1], [3, 0], [8, 0]))
    other.observe(feedback([0], [3], 8))
    pool = Candidates.of(range(3))
    assert np.array_equal(rule.predicted(pool), other.predicted(pool))


def test_wide_features_are_projected_and_keep_their_angles():
    vectors = np.random.default_rng(0).standard_normal((40, 700))
    vectors[1] = vectors[0] + 0.1 * vectors[2]
    x = inputs(vectors, 40)
    assert x.shape == (40, WIDTH + 1) and (x[:, -1] == 1).all()
    inner = x[:, :-1] @ x[:, :-1].T
    assert inner[0, 1] > 0.8 and abs(inner[0, 2:]).max() < 0.6
    assert inputs(None, 3).tolist() == [[1.0]] * 3


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(1)
    vectors, wins, order = rng.standard_normal((20, 300)), rng.integers(0, 9, 20), rng.permutation(20)
    rule, other = Pcl(), Pcl()
    rule.observe(feedback(np.arange(20), wins, 8, vectors))
    other.observe(feedback(np.arange(20)[order], wins[order], 8, vectors[order]))
    pool = Candidates.of(range(40), rng.standard_normal((40, 300)))
    assert rule.predicted(pool) == pytest.approx(other.predicted(pool))


@pytest.mark.parametrize(("given", "margin"), [(True, 0.2), (False, 0.1)])
def test_more_groups_with_signal_than_uniform_at_equal_rollouts(given, margin):
    for seed in range(3):
        chances = rates(160, seed)
        vectors = features(chances, seed) if given else None
        plain = play("grpo", chances, seed=seed)
        chosen = play(declared("pcl"), chances, seed=seed, features=vectors)
        assert plain.rollouts == chosen.rollouts
        assert chosen.signal > plain.signal + margin


def test_features_must_keep_their_width():
    rule = Pcl()
    rule.observe(feedback([0], [3], 8, [[1.0, 0.0]]))
    with pytest.raises(ConfigError, match="0 features after compression, earlier steps had 2"):
        rule.predicted(Candidates.of([1]))


@pytest.mark.parametrize("given", [True, False])
def test_a_resumed_run_repeats_the_same_choices(given):
    chances = rates(64, 0)
    vectors = features(chances, 0, size=100) if given else None
    assert replayed(declared("pcl"), declared("pcl"), chances, features=vectors)


@pytest.mark.parametrize("bad", [{"target": -1}, {"retain": 2}, {"strength": 0}, {"oversample": 0}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=f"Pcl\\({next(iter(bad))}="):
        Pcl(**bad)


def test_recipe_on_the_reference_worlds():
    assert declared("pcl").compares
    for world in winnow.testing.worlds():
        played = winnow.testing.reference(declared("pcl"), world, seed=1)
        assert sorted({prompt for prompt, _ in played.drawn}) == [0, 1, 2]
