"""VIGOR: the worked examples of the specification (18.2), the exact budget, and streaming against rounds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow
from winnow import Budget
from winnow.allocation import Uniform, Vigor
from winnow.allocation.base import highest
from winnow.errors import ConfigError

STREAMS = ["00" * 20, "10" * 20, "01" * 20, "11" * 20, "00" + "01" * 19, "10" + "11" * 19, "01" + "00" * 19]
STREAMS.append("10" + "0011" * 10)


class Host:
    """Answers requests from fixed reward streams, optionally in parts and in any order."""

    def __init__(self, streams):
        self.streams, self.position = streams, [0] * len(streams)

    def draw(self, prompt, count):
        begin = self.position[prompt]
        self.position[prompt] += count
        return [float(bit) for bit in self.streams[prompt][begin : begin + count]]

    def answer(self, step, requests):
        for prompt, count in requests:
            step.tell([prompt] * count, self.draw(prompt, count))


def run(step, host):
    waves = []
    while not step.done:
        requests = step.ask()
        assert len(requests), "a step that is not done and has nothing in flight must ask for something"
        waves.append(list(requests))
        host.answer(step, requests)
    return waves, step.finish()


@pytest.mark.parametrize("barrier", [True, False])
def test_v1_rounds(barrier):
    step = winnow.recipe("vigor", barrier=barrier).begin(8, budget=Budget(rollouts=64), seed=0)
    waves, batch = run(step, Host(STREAMS))
    assert waves == [[(x, 2) for x in range(8)], [(1, 4), (2, 4), (5, 4), (6, 4)], [(1, 8), (2, 8)], [(1, 16)]]
    assert batch.counts.tolist() == [2, 30, 14, 2, 2, 6, 6, 2]
    assert (batch.ledger.rollouts, batch.reason) == (64, "")


def test_v1_variances():
    step = winnow.recipe("vigor").begin(8, seed=0)
    host = Host(STREAMS)
    host.answer(step, step.ask())
    assert step.seen.variance().tolist() == pytest.approx([0, 0.25, 0.25, 0, 0, 0.25, 0.25, 0.25])
    host.answer(step, step.ask())
    assert step.seen.variance(np.array([1, 2, 5, 6])) == pytest.approx([0.25, 0.25, 0.138889, 0.138889], abs=1e-6)


@pytest.mark.parametrize("barrier", [True, False])
@pytest.mark.parametrize(("prompts", "actives"), [(5, 1), (8, 1), (12, 2), (16, 2), (128, 16)])
def test_v2_the_budget_is_exact_whatever_the_rounding(prompts, actives, barrier):
    step = winnow.recipe("vigor", barrier=barrier).begin(prompts)
    _, batch = run(step, Host(["01" * 200] * prompts))
    assert batch.counts.sum() == 8 * prompts
    assert np.count_nonzero(batch.counts > 14) == actives


def test_v3_another_schedule():
    step = winnow.recipe("vigor", rounds=2, initial=4, keep=0.25, growth=4).begin(8)
    waves, batch = run(step, Host(["01" * 60] * 8))
    assert [len(wave) for wave in waves] == [8, 2]
    assert batch.counts.tolist() == [20, 20, 4, 4, 4, 4, 4, 4]


def eta(rounds, keep, growth, k):
    """The factor by which the rollout-weighted mean variance grows under a Pareto tail of exponent k (Theorem 2)."""
    vigor = Vigor(rounds=rounds, initial=2, keep=keep, growth=growth)
    shares = np.array([size * keep**t for t, size in enumerate(vigor.sizes)], float)
    return float(np.sum(shares * np.array([keep ** (-t / k) for t in range(rounds)])) / shares.sum())


def test_v4_speed_up_of_the_theory():
    table = {
        1.5: [1, 1.0896, 1.194, 1.3156, 1.4567, 1.6206],
        2: [1, 1.0648, 1.1374, 1.2188, 1.3101, 1.4122],
        3: [1, 1.0416, 1.0865, 1.1349, 1.1872, 1.2437],
        5: [1, 1.0242, 1.0495, 1.0761, 1.1038, 1.1329],
    }
    for k, wanted in table.items():
        assert [eta(t, 0.5, 2, k) ** (1 / 3) for t in range(1, 7)] == pytest.approx(wanted, abs=6e-5)
    assert eta(2, 0.25, 4, 2) ** (1 / 3) == pytest.approx(1.1447, abs=5e-5)
    assert eta(4, 0.5, 3, 2) ** (1 / 3) == pytest.approx(1.2832, abs=5e-5)


def test_v5_the_allocation_reaches_the_theory_on_pareto_variances():
    """Rewards +-u have variance u^2 after two draws, so the ranking is exact and only the sizes are tested."""
    rng = np.random.default_rng(0)
    prompts = 4096
    variance = (1 - rng.random(prompts)) ** (-1 / 2.0)
    step = winnow.recipe("vigor").begin(prompts)
    while not step.done:
        requests = step.ask()
        where = np.repeat(requests.prompts, requests.counts)
        signs = np.where(np.arange(len(where)) % 2, 1.0, -1.0)
        step.tell(where, signs * np.sqrt(variance[where]))
    counts = step.finish().counts
    assert counts.sum() == 8 * prompts
    gain = (counts * variance).sum() / counts.sum() / variance.mean()
    order = np.sort(variance)[::-1]
    ideal = sum(order[: prompts >> t].mean() for t in range(4)) / 4 / variance.mean()
    assert gain == pytest.approx(ideal, rel=1e-9)
    assert gain == pytest.approx(1.811, abs=0.25)


@pytest.mark.parametrize(("p", "share"), [(0.5, 0.50), (0.3, 0.58), (0.1, 0.82)])
def test_v6_false_negatives_of_two_draws(p, share):
    rng = np.random.default_rng(1)
    step = winnow.recipe("vigor").begin(20000)
    requests = step.ask()
    where = np.repeat(requests.prompts, requests.counts)
    step.tell(where, rng.random(len(where)) < p)
    assert 1 - step.seen.signal().mean() == pytest.approx(share, abs=0.015)


streams = st.lists(st.text("01", min_size=1, max_size=8), min_size=1, max_size=9)


@given(streams, st.integers(1, 120), st.integers(1, 5), st.sampled_from([0.25, 0.5, 0.7]), st.sampled_from([2, 3, 4]))
@settings(max_examples=200, deadline=None)
def test_streaming_equals_rounds_when_every_ask_is_answered_in_full(patterns, budget, rounds, keep, growth):
    outcomes = []
    for barrier in (True, False):
        vigor = winnow.recipe("vigor", rounds=rounds, keep=keep, growth=growth, barrier=barrier)
        host = Host([pattern * 130 for pattern in patterns])
        waves, batch = run(vigor.begin(len(patterns), budget=Budget(rollouts=budget)), host)
        outcomes.append((waves, batch.counts.tolist()))
        assert batch.counts.sum() == budget
    assert outcomes[0] == outcomes[1]


@given(streams, st.integers(1, 80), st.integers(0, 2**31), st.sampled_from([1, 3, 7, None]))
@settings(max_examples=200, deadline=None)
def test_streaming_spends_the_exact_budget_in_any_order_of_arrival(patterns, budget, seed, limit):
    rng = np.random.default_rng(seed)
    step = winnow.recipe("vigor", barrier=False).begin(len(patterns), budget=Budget(rollouts=budget))
    host, flying, asked = Host([pattern * 100 for pattern in patterns]), [], 0
    for _ in range(10_000):
        if step.done:
            break
        requests = step.ask(limit)
        assert limit is None or requests.total <= limit
        asked += requests.total
        assert asked <= budget
        flying += [prompt for prompt, count in requests for _ in range(count)]
        assert flying, "nothing in flight and nothing to ask for, yet not done"
        prompt = flying.pop(int(rng.integers(len(flying))))
        step.tell([prompt], host.draw(prompt, 1))
    batch = step.finish()
    assert batch.counts.sum() == budget == asked
    rounds = winnow.recipe("vigor").begin(len(patterns), budget=Budget(rollouts=budget))
    _, reference = run(rounds, Host([pattern * 100 for pattern in patterns]))
    assert sorted(batch.counts) == sorted(reference.counts), "the sizes, as a multiset, are those of the rounds"


def test_streaming_does_not_wait_for_the_slowest_rollout():
    step = winnow.recipe("vigor", barrier=False).begin(64, budget=Budget(rollouts=512))
    first = step.ask()
    assert first == [(x, 2) for x in range(64)]
    for prompt in range(63):  # prompt 63 is slow
        step.tell([prompt] * 2, [0.0, 1.0])
    more = step.ask()
    assert len(more) == 32
    assert step.ask() == []


def test_an_arrival_order_never_decides_a_rank():
    third, rewards = [0.1, 0.7, 0.4], []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        rewards.append([third[i] for i in order])
    step = winnow.recipe("vigor", initial=3).begin(3)
    step.ask()
    for prompt, values in enumerate(rewards):
        for value in values:
            step.tell([prompt], [value])
    assert len(set(step.seen.variance().tolist())) == 1
    assert [prompt for prompt, _ in step.ask()] == [0, 1]


def test_offsets_never_decide_a_rank():
    for offset in (0.0, 1e8, -1e8):
        step = winnow.recipe("vigor").begin(4)
        step.ask()
        step.tell([0, 0, 1, 1, 2, 2, 3, 3], np.array([0, 0, 0, 0.5, 1, 0, 0.25, 0]) + offset)
        assert sorted(step.ask()) == [(1, 4), (2, 4)]


def test_unscorable_rollouts_count_as_drawn():
    step = winnow.recipe("vigor").begin(2, budget=Budget(rollouts=16))
    step.tell([0, 0, 1, 1], [None, None, 0, 1]) if step.ask() else None
    assert step.ask() == [(1, 4)]
    step.tell([1] * 4, [None] * 4)
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [None] * count)
    batch = step.finish()
    assert batch.counts.sum() == 16
    assert (batch.ledger.unscorable, batch.ledger.trained) == (14, 2)


def test_skip_zero_variance_shares_the_round_out_among_those_that_vary():
    step = winnow.recipe("vigor", skip_zero_variance=True).begin(8)
    step.ask()
    step.tell(np.repeat(np.arange(8), 2), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1])
    assert sorted(step.ask()) == [(5, 8), (6, 8)]


def test_random_ties_depend_on_the_seed_alone():
    def second_wave(seed):
        step = winnow.recipe("vigor", ties="random").begin(16, seed=seed)
        step.ask()
        step.tell(np.repeat(np.arange(16), 2), np.tile([0, 1], 16))
        return sorted(step.ask())

    assert second_wave(1) == second_wave(1)
    assert len({tuple(second_wave(seed)) for seed in range(6)}) > 3


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3]), min_size=1, max_size=30), st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_highest_is_a_stable_sort_cut_off(scores, k):
    values = np.array(scores)
    k = min(k, len(values))
    order = np.lexsort((np.arange(len(values)), -values))[:k]
    assert highest(values, k, np.arange(len(values))).tolist() == sorted(order.tolist())


def test_settings_are_checked():
    for wrong in ({"rounds": 0}, {"initial": 1}, {"keep": 1.0}, {"keep": 0}, {"growth": 1}, {"ties": "indx"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            Vigor(**wrong)
    with pytest.raises(ConfigError, match="barrier"):
        Vigor(barrier=False, skip_zero_variance=True)
    with pytest.raises(ConfigError, match="nearest are 8, 12"):
        Vigor().with_n(9)
    assert Vigor().with_n(32).sizes == [8, 16, 32, 64]
    assert math.isclose(Vigor().n, 8)


def test_uniform_shares_a_small_budget_and_reports_a_large_one():
    step = winnow.recipe("grpo").begin(3, budget=Budget(rollouts=10))
    _, batch = run(step, Host(["01" * 10] * 3))
    assert (batch.counts.tolist(), batch.reason) == ([4, 3, 3], "")
    _, batch = run(winnow.recipe("grpo").begin(3, budget=Budget(rollouts=99)), Host(["01" * 10] * 3))
    assert batch.counts.tolist() == [8, 8, 8]
    assert batch.reason == "each of the 3 prompts has its n=8 rollouts"
    with pytest.raises(ConfigError, match="n=0"):
        Uniform(0)
