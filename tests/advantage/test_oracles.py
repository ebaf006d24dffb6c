"""The worked examples of the specification: D1, D2 and the ADV cases."""

import itertools
import math

import numpy as np
import pytest
from tests.conftest import CASES, numbers

from winnow.advantage import centred, group_weights, grpo, rloo, signal
from winnow.errors import ConfigError, GroupWarning

ONE_OF_EIGHT = [1] + [0] * 7
ZEROS = [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rewards", "dr", "population", "sample", "trl", "leave_one_out"),
    [
        ([1, 0, 0, 1], (0.5, -0.5), (1, -1), (0.866025, -0.866025), (0.865875, -0.865875), (0.666667, -0.666667)),
        ([1, 0], (0.5, -0.5), (1, -1), (0.707107, -0.707107), (0.707007, -0.707007), (1, -1)),
        (
            ONE_OF_EIGHT,
            (0.875, -0.125),
            (2.645751, -0.377964),
            (2.474874, -0.353553),
            (2.474174, -0.353453),
            (1, -0.142857),
        ),
    ],
)
def test_d1_binary(rewards, dr, population, sample, trl, leave_one_out):
    def expand(pair):
        return pytest.approx([pair[0] if reward else pair[1] for reward in rewards], abs=1e-6)

    assert centred(rewards) == expand(dr)
    assert grpo(rewards, ddof=0, eps=0) == expand(population)
    assert grpo(rewards, ddof=1, eps=0) == expand(sample)
    assert grpo(rewards) == expand(trl)
    assert rloo(rewards) == expand(leave_one_out)


def test_d1_graded_and_verl_eps():
    rewards = [0.9, 0.5, 0.1]
    assert centred(rewards) == pytest.approx([0.4, 0, -0.4])
    assert grpo(rewards, ddof=0, eps=0) == pytest.approx([1.224745, 0, -1.224745], abs=1e-6)
    assert grpo(rewards) == pytest.approx([0.99975, 0, -0.99975], abs=1e-6)
    assert rloo(rewards) == pytest.approx([0.6, 0, -0.6])
    assert grpo([1, 0, 0, 1], eps=1e-6)[0] == pytest.approx(0.866024, abs=1e-6)
    assert grpo(ONE_OF_EIGHT, eps=1e-6)[:2] == pytest.approx([2.474867, -0.353552], abs=1e-6)


@pytest.mark.parametrize("rule", [grpo, centred, rloo])
@pytest.mark.parametrize("rewards", [[1], [1, 1, 1], [0.9] * 7, [0.3] * 7, [1e8 + 0.1] * 5, []])
def test_nothing_to_compare_is_exactly_zero(rule, rewards):
    for dtype in (np.float64, np.float32):
        assert rule(np.array(rewards, dtype)).tolist() == [0.0] * len(rewards)
    assert grpo(np.array(rewards, np.float32), eps=1e-9).tolist() == [0.0] * len(rewards)


def test_d2_leave_one_out_is_the_u_statistic():
    rewards, scores = np.array([1, 0, 0, 1.0]), np.array([0.2, -0.1, 0.4, 0.3])
    pairs = itertools.combinations(range(4), 2)
    u = np.mean([0.5 * (rewards[i] - rewards[j]) * (scores[i] - scores[j]) for i, j in pairs])
    assert u == pytest.approx(0.033333, abs=1e-6)
    assert np.mean(rloo(rewards) * scores) == pytest.approx(u)
    assert np.mean(centred(rewards) * scores) == pytest.approx(0.025)


def expected_gradient(rule, n, p):
    """Exact expectation of mean(A * score) for a Bernoulli policy with one logit, whose true gradient is p(1-p)."""
    total = 0.0
    for successes in range(n + 1):
        chance = math.comb(n, successes) * p**successes * (1 - p) ** (n - successes)
        rewards = np.array([1.0] * successes + [0.0] * (n - successes))
        total += chance * float(np.mean(rule(rewards) * (rewards - p)))
    return total


@pytest.mark.parametrize(
    ("n", "p", "population", "sample", "dr", "leave_one_out"),
    [
        (2, 0.5, 0.2500, 0.1768, 0.1250, 0.2500),
        (8, 0.5, 0.4639, 0.4340, 0.2188, 0.2500),
        (2, 0.1, 0.0900, 0.0636, 0.0450, 0.0900),
        (8, 0.1, 0.2095, 0.1960, 0.0788, 0.0900),
        (16, 0.1, 0.2563, 0.2482, 0.0844, 0.0900),
    ],
)
def test_only_leave_one_out_keeps_the_expected_gradient(n, p, population, sample, dr, leave_one_out):
    assert expected_gradient(lambda r: grpo(r, ddof=0, eps=0), n, p) == pytest.approx(population, abs=5e-5)
    assert expected_gradient(lambda r: grpo(r, eps=0), n, p) == pytest.approx(sample, abs=5e-5)
    assert expected_gradient(centred, n, p) == pytest.approx(dr, abs=5e-5)
    assert expected_gradient(rloo, n, p) == pytest.approx(leave_one_out, abs=1e-12)


@pytest.mark.parametrize(("p", "biased"), [(0.5, 0.354167), (0.1, 0.132300)])
def test_d2_a_group_size_that_depends_on_rewards_is_biased(p, biased):
    total = 0.0
    for draws in itertools.product((0.0, 1.0), repeat=4):
        chance = math.prod(p if draw else 1 - p for draw in draws)
        rewards = np.array(draws if draws[0] == draws[1] else draws[:2])
        total += chance * float(np.mean(rloo(rewards) * (rewards - p)))
    assert total == pytest.approx(biased, abs=1e-6)


def test_d2_group_size_and_variance_by_enumeration():
    chances = (0.1, 0.5)
    zeta_1 = zeta_2 = 0.0
    for p in chances:
        kernel = {(a, b): 0.5 * (a - b) * (a - b) for a in (0, 1) for b in (0, 1)}
        weight = {1: p, 0: 1 - p}
        mean = p * (1 - p)
        projected = {a: sum(weight[b] * kernel[a, b] for b in (0, 1)) for a in (0, 1)}
        zeta_1 += sum(weight[a] * (projected[a] - mean) ** 2 for a in (0, 1)) / 2
        zeta_2 += sum(weight[a] * weight[b] * (kernel[a, b] - mean) ** 2 for a in (0, 1) for b in (0, 1)) / 2
    between = np.var([p * (1 - p) for p in chances])
    assert (zeta_1, zeta_2, between) == pytest.approx((0.0072, 0.0497, 0.0064), abs=1e-4)
    assert 1 + math.sqrt((2 * zeta_2 - 4 * zeta_1) / between) == pytest.approx(4.321333, abs=1e-5)
    for n, wanted in ((2, 0.1122), (3, 0.0833), (4, 0.077933), (8, 0.090086), (16, 0.135907)):
        closed = n * between + 4 * (n - 2) / (n - 1) * zeta_1 + 2 / (n - 1) * zeta_2
        assert closed == pytest.approx(wanted, abs=1e-6)
        exact = 0.0
        for p in chances:
            first = second = 0.0
            for c in range(n + 1):
                chance = math.comb(n, c) * p**c * (1 - p) ** (n - c)
                rewards = np.array([1.0] * c + [0.0] * (n - c))
                gradient = float(np.mean(rloo(rewards) * (rewards - p)))
                first, second = first + chance * gradient, second + chance * gradient**2
            exact += (second - first**2) / 2
        assert n * (exact + between) == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("name", ["ADV-01", "ADV-02", "ADV-03", "ADV-04", "ADV-07", "ADV-09", "ADV-11"])
def test_cases(name):
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    dtype = given.get("dtype", "float64")
    rewards = np.array(numbers(given["rewards"]), dtype)
    labels = np.array(given.get("group_ids", [0] * len(rewards)))
    population = "population" in given.get("std", "") or "advantages_std_ddof0" in expected
    advantages = grpo(rewards, labels, ddof=0 if population else 1, eps=0)
    wanted = expected.get("advantages", expected.get("advantages_std_ddof0", [0.0] * len(rewards)))
    assert advantages == pytest.approx(wanted, abs=1e-6)
    if "group_flag" in expected:
        assert signal(rewards, labels).any() == (expected["group_flag"] == "signal")


def test_group_ids_that_are_never_shared_are_noticed():
    given = CASES["ADV-10"]["input"]
    with pytest.warns(GroupWarning, match=CASES["ADV-10"]["expected"]["message_must_contain"]):
        assert grpo(given["rewards"], given["group_ids"]).tolist() == [0, 0, 0, 0]


def test_dropped_rows_do_not_change_the_baseline():
    given, expected = CASES["ADV-12"]["input"], CASES["ADV-12"]["expected"]
    advantages = grpo(given["rewards"], ddof=0, eps=0)
    assert advantages.tolist() == expected["advantages_full_group"]


def test_group_weights_have_mean_one_and_the_named_ratios():
    labels = np.array([5, 5, 5, 5, -2])
    assert group_weights(labels, "rollout").tolist() == [1.0] * 5
    by_prompt = group_weights(labels, "prompt")
    assert by_prompt.sum() == pytest.approx(5)
    assert by_prompt[:4].sum() == pytest.approx(by_prompt[4])
    by_root = group_weights(labels, "sqrt")
    assert by_root.sum() == pytest.approx(5)
    assert by_root[4] == pytest.approx(2 * by_root[0])
    with pytest.raises(ConfigError, match="did you mean 'prompt'"):
        group_weights(labels, "promt")
    assert group_weights(np.array([], int), "prompt").tolist() == []


def test_v7_weight_of_the_largest_vigor_group():
    streams = {0: "0" * 2, 1: "10" * 15, 2: "01" * 7, 3: "11", 4: "00", 5: "101111", 6: "010000", 7: "10"}
    groups = {prompt: np.array([float(bit) for bit in bits]) for prompt, bits in streams.items()}
    rewards = np.concatenate(list(groups.values()))
    labels = np.concatenate([[prompt] * len(group) for prompt, group in groups.items()])
    size = np.abs(grpo(rewards, labels))
    totals = np.array([size[labels == prompt].sum() for prompt in range(8)])
    assert totals == pytest.approx([0, 29.49, 13.488, 0, 0, 4.081, 4.081, 1.414], abs=2e-3)
    assert totals / totals.sum() == pytest.approx([0, 0.561, 0.257, 0, 0, 0.078, 0.078, 0.027], abs=1e-3)
    weighted = size * group_weights(labels, "prompt")
    shares = np.array([weighted[labels == prompt].sum() for prompt in range(8)]) / weighted.sum()
    assert shares == pytest.approx([0, 0.245, 0.240, 0, 0, 0.169, 0.169, 0.176], abs=1e-3)
