"""VIP: the oracles of section 18.3, optimal splits, a predictor that is a Gaussian process, exact budgets."""

import itertools
import math

import numpy as np
import pytest

import winnow
from winnow import Budget
from winnow.advantage import group_weights, rloo
from winnow.allocation.vip import Vip
from winnow.allocation.vip_predictor import Predictor
from winnow.allocation.vip_program import gains, relaxed, variance
from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.feedback import Feedback
from winnow.testing import reference, worlds

RATES = np.array([0.01, 0.1, 0.2, 0.4, 0.5, 0.8, 0.95, 0.99])
FOUR = np.array([0.05, 0.3, 0.5, 0.9])


def told(ids, successes, valid, features=None):
    """The feedback of a step, as far as the rule reads it."""
    successes, valid = np.asarray(successes), np.asarray(valid)
    nothing = np.zeros(0)
    with np.errstate(invalid="ignore"):
        mean = successes / valid
    signal = (successes > 0) & (successes < valid)
    return Feedback(
        Candidates.of(ids, features), valid, valid, successes, mean, signal, mean, nothing, nothing, np.zeros(0, int)
    )


def cost(rates, counts, gradient):
    return float((4 * rates * (1 - rates) * variance(counts, gradient)).sum())


ORACLES = [  # gradient, rates, rule, total, real-valued, multiplier, whole, objective, objective of uniform
    ("rloo", RATES, {"least": 0.5, "most": 1.5}, 64, [4, 7.5, 9.666, 11.614, 11.833, 9.666, 5.722, 4], 0.00852,
     [4, 7, 10, 11, 12, 10, 6, 4], 0.453531, 0.552743),
    ("dr-grpo", RATES, {"least": 0.5, "most": 1.5}, 64, [4, 7.182, 10.095, 12, 12, 10.095, 4.629, 4], 0.00504,
     [4, 7, 10, 12, 12, 10, 5, 4], 0.354254, 0.423194),
    ("rloo", FOUR, {"least": 0.25, "most": 2}, 32, [5.1339, 9.692, 10.4838, 6.6903], 0.011118,
     [5, 10, 10, 7], 0.311944, 0.341429),
    ("dr-grpo", FOUR, {"least": 0.375, "most": 2}, 32, [3.795, 10.4309, 11.5066, 6.2676], 0.006240,
     [4, 10, 12, 6], 0.237614, 0.261406),
]  # fmt: skip


@pytest.mark.parametrize(("gradient", "rates", "bounds", "total", "real", "price", "whole", "best", "flat"), ORACLES)
def test_q1_q2_splits(gradient, rates, bounds, total, real, price, whole, best, flat):
    rule = Vip(gradient=gradient, **bounds)
    counts = rule.plan(rates, total)
    assert counts.tolist() == whole
    assert cost(rates, counts, gradient) == pytest.approx(best, abs=5e-7)
    assert cost(rates, np.full(len(rates), 8), gradient) == pytest.approx(flat, abs=5e-7)
    weight = 4 * rates * (1 - rates)
    found, multiplier = relaxed(weight, total, rule.low, rule.largest, gradient)
    assert found == pytest.approx(real, abs=6e-4) and multiplier == pytest.approx(price, abs=6e-6)
    assert found.sum() == pytest.approx(total)
    assert cost(rates, found, gradient) <= cost(rates, counts, gradient)


def test_q2_root_of_dr_grpo():
    """The closed form solves w (n-2)/n^3 = lambda, and so do the free prompts of a split."""
    n = 2 * math.sqrt(0.84 / 0.006) * math.cos(math.acos(-3 * math.sqrt(0.006 / 0.84)) / 3)
    assert n == pytest.approx(19.409323, abs=5e-7)
    assert 0.84 * (n - 2) / n**3 == pytest.approx(0.002, abs=1e-15)
    weight = 4 * FOUR * (1 - FOUR)
    counts, price = relaxed(weight, 32, 3, 16, "dr-grpo")
    assert weight * (counts - 2) / counts**3 == pytest.approx(price, rel=1e-9)


@pytest.mark.parametrize("gradient", ["rloo", "dr-grpo"])
def test_the_real_valued_split_is_optimal(gradient):
    """It sums to the total, and prompts off their bounds all have the slope -lambda."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        rates = rng.random(int(rng.integers(1, 8)))
        weight, total = 4 * rates * (1 - rates), float(rng.uniform(3, 20)) * len(rates)
        counts, price = relaxed(weight, total, 3, 20, gradient)
        assert counts.sum() == pytest.approx(total) and counts.min() >= 3 and counts.max() <= 20
        slope = weight * (1 / (counts - 1) ** 2 if gradient == "rloo" else (counts - 2) / counts**3)
        inside = (counts > 3 + 1e-9) & (counts < 20 - 1e-9)
        assert slope[inside] == pytest.approx(price)
        assert (slope[counts <= 3 + 1e-9] <= price * 1.0001).all()
        assert (slope[counts >= 20 - 1e-9] >= price * 0.9999).all()


def test_q3_variance_by_enumeration():
    """Rewards of +-1 and independent scores of variance 1: Var[(1/n) sum A Z] = E[sum A^2] / n^2."""
    p = 0.3
    expected = {"dr-grpo": {2: 0.21, 4: 0.1575, 8: 0.091875}, "rloo": {2: 0.84, 4: 0.28, 8: 0.12}}
    for gradient, table in expected.items():
        for n, value in table.items():
            total = 0.0
            for right in range(n + 1):
                rewards = np.array([1.0] * right + [-1.0] * (n - right))
                advantage = (rewards - rewards.mean()) * (n / (n - 1) if gradient == "rloo" else 1)
                total += math.comb(n, right) * p**right * (1 - p) ** (n - right) * (advantage**2).sum() / n**2
            assert total == pytest.approx(value) == pytest.approx(4 * p * (1 - p) * float(variance(n, gradient)))


def test_q4_dr_grpo_needs_three():
    assert variance(np.arange(1, 6), "dr-grpo") == pytest.approx([0, 0.25, 2 / 9, 0.1875, 0.16])
    assert Vip(n=3, least=0.1, gradient="dr-grpo").low == 3 and Vip(n=3, least=0.1).low == 2
    assert (gains(np.ones(1), np.arange(3, 60), "dr-grpo") > 0).all()
    with pytest.raises(ConfigError, match="whole number >= 3"):
        Vip(n=2, gradient="dr-grpo")


@pytest.mark.parametrize("gradient", ["rloo", "dr-grpo"])
def test_no_split_is_better(gradient):
    rng = np.random.default_rng(1)
    for _ in range(25):
        rates = rng.random(3)
        rule = Vip(n=5, least=0.6, most=1.8, gradient=gradient)
        total = int(rng.integers(9, 28))
        options = [
            cost(rates, np.array(counts), gradient)
            for counts in itertools.product(range(rule.low, rule.largest + 1), repeat=3)
            if sum(counts) == total
        ]
        assert cost(rates, rule.plan(rates, total), gradient) == pytest.approx(min(options), rel=1e-9)


def test_gains_fall_so_that_greedy_is_exact():
    for gradient, low in (("rloo", 2), ("dr-grpo", 3)):
        steps = gains(np.ones(1), np.arange(low, 2000), gradient)[0]
        assert (np.diff(steps) < 0).all()


LINE = np.array([0.0, 0.3, 0.6, 1.5])[:, None]
Q6 = [
    ([0], [0.75], [1.09861, 0.58396, -0.31875, -0.99815], [0.75, 0.64198, 0.42098, 0.26931], 5e-6),
    ([0, 2], [0.75, 0.0], [1.0986, -7.1065, -13.8155, -2.194], [0.75, 0.00082, 0.0, 0.10029], 5e-5),
]


@pytest.mark.parametrize(("seen", "rates", "latent", "predicted", "tolerance"), Q6)
@pytest.mark.parametrize("met", [0, 4])
def test_q6_gaussian_process(seen, rates, latent, predicted, tolerance, met):
    """A prompt that comes up only now is where it would be, had it been known all along (``met``: prompts known)."""
    guess = Predictor(prior=-1.0, length_scale=0.4, clip_rate=1e-6, noise=1e-4)
    everything = Candidates.of(np.arange(4), LINE)
    if met:  # known, at the prior: a pass rate of sigmoid(-1)
        guess.observe(everything, np.full(4, 1 / (1 + math.e)))
    guess.observe(everything.pick(np.array(seen)), np.array(rates))
    assert guess.latent(everything) == pytest.approx(latent, abs=tolerance)
    assert guess.rates(everything) == pytest.approx(predicted, abs=tolerance)


def test_late_prompts_follow_every_step_as_known_ones_do():
    """Two predictors, one of which knows prompts 4 to 7 (never drawn) from the start, agree on them."""
    rng = np.random.default_rng(2)
    prompts = Candidates.of(np.arange(8), rng.normal(size=(8, 3)))
    mean = np.zeros(8)
    guess = Predictor(prior=0.0, length_scale=1.0, clip_rate=1e-3, noise=1e-2)
    vectors = prompts.features.astype(np.float32).astype(float)
    kernel = np.exp(-((vectors[:, None] - vectors[None]) ** 2).sum(-1) / 2)
    for _ in range(6):
        drawn = rng.choice(4, 3, replace=False)
        rates = rng.integers(0, 9, 3) / 8
        target = np.log(np.clip(rates, 1e-3, 0.999) / (1 - np.clip(rates, 1e-3, 0.999)))
        gram = kernel[np.ix_(drawn, drawn)] + 1e-2 * np.eye(3)
        mean = mean + kernel[:, drawn] @ np.linalg.solve(gram, target - mean[drawn])
        mean[drawn] = target
        guess.observe(prompts.pick(drawn), rates)
    bound = 2 * math.log(999)
    assert np.abs(mean).max() < bound
    assert guess.latent(prompts)[4:] == pytest.approx(mean[4:])
    assert guess.latent(prompts.pick(drawn)) == pytest.approx(mean[drawn])


def test_one_failed_group_does_not_drag_its_neighbours_far():
    rule = Vip(length_scale=0.4)
    rule.observe(told([0, 2], [6, 0], [8, 8], LINE[[0, 2]]))
    latent = rule._predictor.latent(Candidates.of([0, 1, 2, 3], LINE))
    assert latent[2] == pytest.approx(math.log(0.05 / 0.95))
    assert np.abs(latent).max() <= 2 * math.log(19)


def test_near_duplicates_and_single_prompts_stay_finite():
    rule = Vip()
    rule.observe(told([7], [3], [8], [[1.0, 0.0]]))  # no distance yet: only its own rate is learnt
    assert rule._predictor.rates(Candidates.of([7, 8], [[1.0, 0.0], [1.0, 0.0]])) == pytest.approx([3 / 8, 0.5])
    same = np.tile([0.6, 0.8], (6, 1))
    same[5] = [0.0, 1.0]
    rule.observe(told(np.arange(6), [0, 8, 0, 8, 4, 4], [8] * 6, same))
    assert np.isfinite(rule._predictor.latent(Candidates.of(np.arange(9), np.tile([0.6, 0.8], (9, 1))))).all()


def test_predictions_between_opposite_neighbours_stay_within_bounds():
    guess = Predictor(prior=0.0, length_scale=1.0, clip_rate=0.05, noise=1e-6)
    points = Candidates.of(np.arange(4), [[0.0], [0.2], [0.7], [-0.6]])
    guess.observe(points.pick(np.arange(2)), np.array([0.0, 1.0]))
    bound = 2 * math.log(19)
    assert guess.latent(points) == pytest.approx([-bound / 2, bound / 2, bound, -bound])


def test_unscorable_rollouts_say_nothing():
    recipe = winnow.recipe("vip", n=4)
    step = recipe.begin(2, ids=[1, 2])
    step.ask()
    step.tell([0, 0, 0, 0, 1, 1, 1, 1], [1.0, None, 0.0, float("nan"), None, None, None, None])
    step.finish()
    assert recipe.allocation._predictor._memory.ids.tolist() == [1]
    assert recipe.allocation._predictor.rates(Candidates.of([1, 2])) == pytest.approx([0.5, 0.5])


def spent(noise, vectors, rates, epochs=3):
    """Sum of the variances over a run, as a multiple of that of uniform groups."""
    recipe, rng = winnow.recipe("vip", noise=noise), np.random.default_rng(0)
    ours = uniform = 0.0
    for _ in range(epochs):
        for ids in rng.permutation(len(rates)).reshape(-1, 64):
            batch = play(recipe.begin(64, ids=ids, features=vectors[ids]), rates[ids], rng)
            ours += cost(rates[ids], batch.counts, "rloo")
            uniform += cost(rates[ids], np.full(64, 8), "rloo")
    return ours / uniform


def test_noise():
    """With vectors that say nothing the paper's noise is worse than uniform groups, the default is not."""
    rng = np.random.default_rng(1)
    rates = rng.beta(0.4, 0.4, 512)
    vectors = rng.normal(size=(512, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert spent(1e-4, vectors, rates) > 1.1
    assert spent(1.0, vectors, rates) < 0.97
    assert spent(1.0, vectors, rates, epochs=1) < 1.02
    kinds = np.repeat([[1.0, 0.0], [0.0, 1.0]], 256, axis=0)
    rates = np.repeat([0.02, 0.5], 256)
    assert spent(1.0, kinds, rates, epochs=1) < 0.9


def test_without_features_each_prompt_is_judged_by_its_own_last_visit():
    rule = Vip()
    rule.observe(told([3, 5, 9, 4], [8, 4, 1, 0], [8, 8, 8, 0]))
    rates = rule._predictor.rates(Candidates.of([5, 3, 4, 1, 9]))
    assert rates == pytest.approx([0.5, 0.95, 0.5, 0.5, 0.125])  # 4 had nothing scorable, 1 is new
    with pytest.raises(ConfigError, match="give them always or never"):
        rule.begin(Candidates.of([5], [[1.0]]), 8, np.random.default_rng(0))
    other = Vip()
    other.observe(told([1, 2], [1, 2], [4, 4], [[1.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(ConfigError, match="features have 3 numbers per prompt, 2 before"):
        other.observe(told([1], [1], [4], [[1.0, 0.0, 0.0]]))


def test_edges():
    rule = Vip()
    assert rule.plan(np.full(5, 0.5), 43).tolist() == [9, 9, 9, 8, 8]
    assert rule.plan(np.array([0.0, 1.0, 0.5]), 24).tolist() == [4, 4, 16]
    assert rule.plan(np.array([0.0, 1.0]), 11).tolist() == [6, 5]  # nothing to gain: evenly
    assert rule.plan(np.array([0.2, 0.8, 0.5]), 25).tolist() == [8, 8, 9]
    assert rule.plan(np.array([0.9, 0.5, 0.1]), 9).tolist() == [4, 5, 0]  # below low: the best are served
    assert rule.plan(np.array([0.9, 0.5]), 50).tolist() == [25, 25]


def play(step, rates, rng):
    while not step.done:
        for prompt, count in step.ask(limit=7):
            step.tell([prompt] * count, (rng.random(count) < rates[prompt]).astype(float))
    return step.finish()


@pytest.mark.parametrize("name", ["vip", "vip-dr-grpo"])
def test_the_first_step_is_uniform_and_the_second_follows_what_was_seen(name):
    recipe = winnow.recipe(name)
    assert recipe.compares and recipe.remembers
    rates = np.repeat([0.0, 0.5], 4)
    features = np.repeat(np.eye(2), 4, axis=0) + np.random.default_rng(0).normal(0, 0.01, (8, 2))
    rng = np.random.default_rng(0)
    first = play(recipe.begin(8, ids=range(8), features=features), rates, rng)
    assert first.counts.tolist() == [8] * 8
    # Eight prompts never seen before, like those seen: the failing kind gets fewer.
    second = play(recipe.begin(8, ids=range(8, 16), features=features), rates, rng)
    assert second.counts.sum() == 64 and second.counts[:4].max() < second.counts[4:].min()
    assert second.reason == "" and second.ledger.waves == 10


def test_every_budget_is_spent_exactly_and_memory_goes_through_a_checkpoint():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(30, 4))
    recipe = winnow.recipe("vip", n=6)
    for seed in range(30):
        ids = rng.choice(30, int(rng.integers(1, 9)), replace=False)
        budget = Budget(rollouts=int(rng.integers(1, 150)))
        batches = []
        again = winnow.recipe("vip", n=6)
        again.load_state_dict(recipe.state_dict())
        for one in (recipe, again):
            step = one.begin(len(ids), budget=budget, seed=seed, ids=ids, features=features[ids])
            batches.append(play(step, ids / 30, np.random.default_rng(seed)))
        assert batches[0].ledger.rollouts == budget.rollouts
        assert batches[0].counts.tolist() == batches[1].counts.tolist()
        assert recipe.state_dict() == again.state_dict()


def test_order_of_prompts_does_not_matter():
    features = np.random.default_rng(4).normal(size=(12, 5))
    order = np.random.default_rng(5).permutation(12)
    one, two = Vip(), Vip()
    successes = np.arange(12) % 9
    one.observe(told(np.arange(12), successes, [8] * 12, features))
    two.observe(told(order, successes[order], [8] * 12, features[order]))
    asked = Candidates.of(np.arange(12), features)
    assert one._predictor.rates(asked) == pytest.approx(two._predictor.rates(asked))


def test_equal_prompts_count_the_same_and_without_bias():
    """All outcomes of two prompts with 2 and 5 rollouts: E[sum weight A r] is P times p (1-p) for each of them."""
    p, owners = np.array([0.3, 0.8]), np.repeat([0, 1], [2, 5])
    recipe = winnow.recipe("vip")
    weights = group_weights(owners, recipe.weight)
    expected = np.zeros(2)
    for outcome in itertools.product((0.0, 1.0), repeat=7):
        rewards = np.array(outcome)
        chance = np.prod(np.where(rewards == 1, p[owners], 1 - p[owners]))
        pull = weights * rloo(rewards, owners) * rewards
        expected += chance * np.bincount(owners, pull)
    assert recipe.advantage.name == "rloo"
    assert expected / 7 * 2 == pytest.approx(p * (1 - p))


@pytest.mark.parametrize("name", ["vip", "vip-dr-grpo"])
def test_every_world(name):
    for world in worlds():
        rule = winnow.recipe(name)
        for seed in range(2):
            played = reference(rule, world, seed)
            assert len(set(played.drawn)) == len(played.drawn)
            if world.budget.rollouts:
                assert len(played.drawn) == world.budget.rollouts


def test_settings():
    recipe = winnow.recipe("vip", n=16, most=1.5, clip_rate=0.1)
    assert (recipe.allocation.low, recipe.allocation.largest, recipe.allocation.n) == (8, 24, 16)
    assert recipe.allocation.with_n(4).largest == 6
    for bad in ({"least": 0}, {"least": 1.5}, {"most": 0.9}, {"gradient": "ppo"}, {"clip_rate": 0.5}, {"noise": 0},
                {"length_scale": -1}, {"prior": math.inf}, {"n": 1}, {"most": math.inf}):  # fmt: skip
        with pytest.raises(ConfigError):
            Vip(**bad)
    with pytest.raises(ConfigError, match="no split exists"):
        relaxed(np.ones(2), 30, 2, 8, "rloo")
