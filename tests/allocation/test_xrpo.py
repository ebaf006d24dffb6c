import math

import numpy as np
import pytest
from scipy import stats
from tests.allocation.played import play

import winnow
from winnow import Budget
from winnow.allocation.xrpo import Xrpo, _highest
from winnow.errors import ConfigError
from winnow.observed import Observed


def test_x1_gain_and_bonus():
    rule, n, half = Xrpo(), np.array([2, 4, 8]), np.full(3, 0.5)
    gain = rule.half_width(n, half) - rule.half_width(n + 1, half)
    assert gain == pytest.approx([3.25025, 0.17478, 0.03368], abs=5e-6)
    assert rule.priority(n, np.zeros(3), 16) == pytest.approx([0.14166, 0.07083, 0.03542], abs=5e-6)


def test_x1_against_the_definition():
    rule = Xrpo(level=0.2, ceiling=math.inf)
    for n in range(2, 12):
        width = [stats.t.ppf(0.9, k - 1) * 0.3 / math.sqrt(k) for k in (n, n + 1)]
        wanted = width[0] - width[1] + 0.1 * math.log(51) / n
        assert rule.priority(np.array([n]), np.array([0.3]), 50)[0] == pytest.approx(wanted)


def test_the_step_from_two_to_three_is_cut_and_one_or_none_comes_first():
    found = Xrpo(bonus=0.0).priority(np.array([0, 1, 2]), np.array([0.0, 0.0, 0.5]), 16)
    assert found.tolist() == [math.inf, math.inf, 1.0]


def observed(streams):
    seen = Observed(len(streams))
    for prompt, outcomes in enumerate(streams):
        seen.granted[prompt] = len(outcomes)
        seen.add(np.full(len(outcomes), prompt), np.array(outcomes, float))
    return seen


@pytest.mark.parametrize("seed", range(20))
def test_a_round_against_giving_out_one_by_one(seed):
    rng = np.random.default_rng(seed)
    streams = [rng.integers(0, 2, rng.integers(2, 8)).tolist() for _ in range(7)]
    rule, size = Xrpo(most=10, bonus=float(rng.choice([0, 0.1, 1]))), int(rng.integers(1, 40))
    total = sum(map(len, streams))
    deviation = np.array([np.std(outcomes, ddof=1) for outcomes in streams])
    more = np.zeros(7, int)
    for _ in range(size):
        n = np.array([len(outcomes) for outcomes in streams]) + more
        scores = [
            (-round(float(rule.priority(n[[i]], deviation[[i]], total)[0]), 9), more[i], i)
            for i in range(7)
            if n[i] < 10
        ]
        if scores:
            more[min(scores)[2]] += 1
    grant = _highest(rule, observed(streams), size)
    found = np.zeros(7, int)
    found[grant.prompts] = grant.counts
    assert found.tolist() == more.tolist()


def test_rollouts_go_to_prompts_that_vary():
    streams = np.tile([1.0, 0.0], (4, 16))
    streams[1] = 0
    streams[3] = 1
    played = play(winnow.recipe("xrpo", bonus=0.0), streams)
    assert sum(played.counts) == 32
    assert played.counts == [12, 4, 12, 4]
    explored = play(winnow.recipe("xrpo", bonus=5.0), streams)
    assert min(explored.counts) > 4


def test_prompts_without_two_verdicts_come_first_but_not_beyond_most():
    streams = np.tile([1.0, 0.0], (3, 16))
    streams[1] = np.nan
    played = play(winnow.recipe("xrpo", most=10, bonus=0.0), streams)
    assert played.counts[1] == 10
    assert sum(played.counts) == 24


@pytest.mark.parametrize("seed", range(25))
def test_any_budget_is_spent_exactly(seed):
    rng = np.random.default_rng(seed)
    prompts, n = int(rng.integers(1, 12)), int(rng.integers(2, 10))
    rule = Xrpo(
        n=n, initial=int(rng.integers(1, n + 1)), rounds=int(rng.integers(1, 6)), most=n + int(rng.integers(0, 9))
    )
    streams = (rng.random((prompts, 40)) < rng.random((prompts, 1))).astype(float)
    budget = int(rng.integers(1, prompts * (rule.most + 2)))
    played = play(winnow.Recipe("x", allocation=rule), streams, budget)
    assert sum(played.counts) == min(budget, prompts * rule.most)
    assert max(played.counts) <= rule.most
    assert len(played.waves) <= 1 + rule.rounds
    assert bool(played.batch.reason) == (budget > prompts * rule.most)


def test_rounds_are_of_equal_size():
    played = play(winnow.recipe("xrpo", n=8, initial=4, rounds=4), np.tile([1.0, 0.0], (6, 16)))
    assert [sum(count for _, count in wave) for wave in played.waves] == [24, 6, 6, 6, 6]


def test_a_short_last_round_goes_to_the_highest_priority():
    streams = np.array([[0, 0.9] * 8, [0, 1] * 8])
    played = play(winnow.recipe("xrpo", rounds=2, bonus=0.0), streams, 11)
    assert played.waves == [[(0, 4), (1, 4)], [(0, 1), (1, 1)], [(1, 1)]]


def test_tokens_are_spent():
    played = play(winnow.recipe("xrpo"), np.tile([1.0, 0.0], (4, 20)), Budget(tokens=250, longest=5))
    assert sum(played.counts) == 50


def test_order_of_arrival_and_an_offset_change_nothing():
    rng = np.random.default_rng(4)
    streams = rng.integers(0, 3, (9, 40)) / 2
    expected = play(winnow.recipe("xrpo"), streams).counts
    assert play(winnow.recipe("xrpo"), streams + 100.0).counts == expected
    step, drawn = winnow.recipe("xrpo").begin(9), np.zeros(9, int)
    while not step.done:
        told = []
        for prompt, count in step.ask():
            told += [(prompt, streams[prompt, drawn[prompt] + i]) for i in range(count)]
            drawn[prompt] += count
        for i in rng.permutation(len(told)):
            step.tell([told[i][0]], [told[i][1]])
    assert step.finish().counts.tolist() == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"initial": 9},
        {"initial": 0},
        {"rounds": 0},
        {"level": 1.0},
        {"bonus": -1},
        {"ceiling": 0},
        {"most": 7},
        {"n": 0},
    ],
)
def test_settings_out_of_range(wrong):
    with pytest.raises(ConfigError, match="Xrpo"):
        Xrpo(**wrong)


def test_another_mean():
    assert Xrpo().with_n(2) == Xrpo(n=2, initial=2)
    assert Xrpo().with_n(40).most == 40


@pytest.mark.parametrize("world", winnow.testing.worlds(), ids=lambda world: world.name)
def test_worlds(world):
    played = winnow.testing.reference(winnow.recipe("xrpo"), world, 3)
    assert len(played.drawn) == 96 or world.budget.tokens
