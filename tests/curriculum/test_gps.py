import numpy as np
import pytest
from scipy.optimize import minimize
from tests.curriculum.pools import declared, features, feedback, play, rates, replayed

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.gps import Gps, greedy
from winnow.curriculum.network import SPREAD, Logistic
from winnow.errors import ConfigError


def test_belief_is_the_laplace_approximation_of_the_posterior():
    rng = np.random.default_rng(0)
    belief, mean, precision = Logistic(0.6), np.zeros(4), np.eye(4) / SPREAD**2
    for _ in range(3):
        x, trials = rng.standard_normal((25, 4)), rng.integers(0, 9, 25) / 2
        wins = trials * rng.random(25)
        belief.learn(x, wins, trials)
        before = 0.6 * precision + 0.4 * np.eye(4) / SPREAD**2

        def cost(w, x=x, wins=wins, trials=trials, at=mean, before=before):
            logits = x @ w
            likely = wins @ logits - trials @ np.logaddexp(0, logits)
            return -likely + 0.5 * (w - at) @ before @ (w - at)

        mean = minimize(cost, mean, method="BFGS", options={"gtol": 1e-9}).x
        chance = 1 / (1 + np.exp(-x @ mean))
        precision = before + (x * (trials * chance * (1 - chance))[:, None]).T @ x
        assert belief._mean == pytest.approx(mean, abs=1e-5)
        assert belief._precision == pytest.approx(precision, rel=1e-3, abs=1e-3)


def test_extreme_evidence_converges():
    belief = Logistic(1.0)
    for _ in range(20):
        belief.learn(np.array([[5.0, 1.0], [-5.0, 1.0]]), np.array([1e6, 0.0]), np.array([1e6, 1e6]))
    found = belief.rates(np.array([[5.0, 1.0], [-5.0, 1.0]]), 8, np.random.default_rng(0))
    assert np.isfinite(belief._mean).all() and found == pytest.approx([1, 0], abs=1e-3)


def test_a_belief_that_was_sure_of_the_opposite_converges():
    belief, x = Logistic(0.0), np.array([[1.0]])
    belief.learn(x, np.array([1e6]), np.array([1e6]))
    assert belief._mean[0] > 8  # where a full Newton step overshoots
    belief.learn(x, np.array([0.0]), np.array([1e6]))
    assert belief.rates(x, 8, np.random.default_rng(0))[0] < 1e-3


def test_predictions_average_draws_of_correlated_weights():
    rng = np.random.default_rng(0)
    belief, x = Logistic(1.0), np.array([[2.0, 2.0], [1.0, 0.0], [0.0, 1.0]])
    belief.learn(x[:1], np.array([5.0]), np.array([8.0]))
    spread = np.sqrt(np.einsum("pk,kl,pl->p", x, np.linalg.inv(belief._precision), x))
    grid = np.linspace(-8, 8, 4001)
    weight = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    wanted = [weight @ (1 / (1 + np.exp(-(mean + s * grid)))) for mean, s in zip(x @ belief._mean, spread, strict=True)]
    assert belief.rates(x, 200_000, rng) == pytest.approx(wanted, abs=4e-3)


def test_predictions_average_draws_from_the_belief():
    belief, x = Logistic(1.0), np.array([[1.0]])
    belief.learn(x, np.array([6.0]), np.array([8.0]))
    found = belief.rates(x, 200_000, np.random.default_rng(0))[0]
    grid = np.linspace(-10, 10, 40_001)
    weight = np.exp(-0.5 * belief._precision[0, 0] * (grid - belief._mean[0]) ** 2)
    assert found == pytest.approx((weight / (1 + np.exp(-grid))).sum() / weight.sum(), abs=2e-3)


def test_the_record_of_a_prompt_is_a_beta_update_of_the_shared_prediction():
    rule = Gps(retain=1.0, strength=4.0)
    rule.observe(feedback([0], [6], 8))
    pool = Candidates.of([0, 1])
    known, shared = rule.predicted(pool, np.random.default_rng(0))
    assert known == pytest.approx((4 * shared + 6) / 12)


def test_rollouts_of_one_prompt_count_less_than_those_of_many():
    one, many = Gps(strength=2.0), Gps(strength=2.0)
    one.observe(feedback([0], [8], 8))
    many.observe(feedback(range(8), [1] * 8, 1))
    unseen, rng = Candidates.of([99]), np.random.default_rng
    assert one.predicted(unseen, rng(0))[0] < many.predicted(unseen, rng(0))[0]


@pytest.mark.parametrize("seed", range(10))
def test_greedy_takes_the_best_of_what_is_left_each_time(seed):
    rng = np.random.default_rng(seed)
    utility, vectors = rng.random(12) / 10, rng.standard_normal((12, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = greedy(utility, vectors, 0.3, 6).tolist()
    for taken, place in enumerate(chosen):
        before = chosen[:taken]
        values = {
            other: utility[other]
            + 0.3 * (np.mean([0.5 - 0.5 * vectors[other] @ vectors[one] for one in before]) if before else 0.5)
            for other in range(12)
            if other not in before
        }
        assert values[place] == pytest.approx(max(values.values()))
    assert len(set(chosen)) == 6 and greedy(utility, vectors, 0.3, 20).size == 12


def test_greedy_is_near_the_best_subset():
    from itertools import combinations

    rng = np.random.default_rng(0)
    utility, vectors = rng.random(9) / 10, rng.standard_normal((9, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def worth(batch):
        apart = [0.5 - 0.5 * vectors[a] @ vectors[b] for a, b in combinations(batch, 2)]
        return utility[list(batch)].mean() + 0.1 * np.mean(apart)

    values = sorted((worth(batch) for batch in combinations(range(9), 4)), reverse=True)
    assert worth(greedy(utility, vectors, 0.1, 4).tolist()) >= values[len(values) // 10]


def test_diversity_spreads_a_batch_of_equally_good_prompts():
    vectors = np.repeat(np.eye(4), 5, axis=0)
    rng, pool = np.random.default_rng(0), Candidates.of(range(20), vectors)
    for _ in range(20):
        opened = Gps(diversity=1.0).choose(pool, 4, rng).opened
        assert sorted(opened // 5) == [0, 1, 2, 3]
    picks = [len(set(Gps(diversity=0.0).choose(pool, 4, rng).opened // 5)) for _ in range(20)]
    assert min(picks) < 4


def test_prompts_unlike_recent_batches_come_first():
    rule, vectors = Gps(strength=1e6), np.repeat(np.eye(2), 4, axis=0)
    rule.observe(feedback(range(8), [4] * 8, 8, vectors))  # teaches 1/2 of both kinds
    rule.observe(feedback(range(4), [4] * 4, 8, vectors[:4]))
    picked = rule.choose(Candidates.of(range(10, 18), vectors), 1, np.random.default_rng(0)).opened
    assert picked[0] >= 4


def test_unseen_prompts_are_told_apart_by_their_features():
    rng = np.random.default_rng(0)
    kinds = np.eye(3)[rng.integers(3, size=60)]
    rule = Gps(diversity=0.0)
    rule.observe(feedback(range(60), (kinds @ [0, 4, 8]).astype(int), 8, kinds))
    pool = Candidates.of([100, 101, 102], np.eye(3))
    found = rule.predicted(pool, rng)
    assert found[0] < 0.2 and 0.4 < found[1] < 0.6 and found[2] > 0.8
    assert rule.choose(pool, 1, rng).opened.tolist() == [1]


def test_unscorable_prompts_teach_nothing():
    rule, other = Gps(), Gps()
    rule.observe(feedback([0, 1], [3, 0], [8, 0]))
    other.observe(feedback([0], [3], 8))
    pool = Candidates.of(range(3))
    first, second = (one.predicted(pool, np.random.default_rng(0)) for one in (rule, other))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(("given", "margin"), [(True, 0.2), (False, 0.1)])
def test_more_groups_with_signal_than_uniform_at_equal_rollouts(given, margin):
    for seed in range(3):
        chances = rates(160, seed)
        vectors = features(chances, seed) if given else None
        plain = play("grpo", chances, seed=seed)
        chosen = play(declared("gps"), chances, seed=seed, features=vectors)
        assert plain.rollouts == chosen.rollouts
        assert chosen.signal > plain.signal + margin


def test_features_must_keep_their_width():
    rule = Gps()
    rule.observe(feedback([0], [3], 8, [[1.0, 0.0]]))
    with pytest.raises(ConfigError, match="3 features after compression, earlier steps had 2"):
        rule.choose(Candidates.of([1], [[1.0, 0.0, 0.0]]), 1, np.random.default_rng(0))


@pytest.mark.parametrize("given", [True, False])
def test_a_resumed_run_repeats_the_same_choices(given):
    chances = rates(64, 0)
    vectors = features(chances, 0, size=100) if given else None
    assert replayed(declared("gps", diversity=0.5), declared("gps", diversity=0.5), chances, features=vectors)


@pytest.mark.parametrize(
    "bad", [{"target": -1}, {"diversity": -1}, {"draws": 0}, {"retain": 2}, {"strength": 0}, {"oversample": 0}]
)
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=f"Gps\\({next(iter(bad))}="):
        Gps(**bad)


def test_recipe_on_the_reference_worlds():
    assert declared("gps").compares
    for world in winnow.testing.worlds():
        played = winnow.testing.reference(declared("gps"), world, seed=1)
        assert len({prompt for prompt, _ in played.drawn}) == 3
