import numpy as np
import pytest
from tests.allocation.played import gradients, histories, history_chance, play

import winnow
from winnow import Budget
from winnow.allocation.speed import Speed
from winnow.errors import ConfigError

MIXED, WRONG, RIGHT = [1, 0] * 8, [0] * 16, [1] * 16


def test_the_first_that_pass_are_continued_and_train():
    # Eight at hand, two wanted: 1, 3 and 4 pass, 4 is not needed.
    streams = [WRONG, MIXED, RIGHT, MIXED, MIXED, WRONG, RIGHT, WRONG]
    played = play(winnow.recipe("speed"), streams)
    assert played.waves == [[(prompt, 4) for prompt in range(8)], [(1, 12), (3, 12)]]
    assert sorted(set(played.batch.prompts.tolist())) == [1, 3]
    assert played.batch.kept_rows == 32
    assert played.batch.ledger.gated == 24
    assert played.batch.visited == 8
    assert played.batch.reason == "2 of 2 prompts continued"


def test_groups_are_both_phases():
    played = play(winnow.recipe("speed", pool=1), [[0, 0, 0, 1] + [0] * 12])
    places, advantages = played.kept(0)
    assert places == list(range(16))
    assert max(advantages) == pytest.approx(1.0)  # leave-one-out: 1 - 0/15


def test_too_few_pass():
    played = play(winnow.recipe("speed"), [MIXED] + [WRONG] * 7)
    assert played.counts == [16] + [4] * 7
    assert played.batch.reason == "1 of 2 prompts continued: all 8 prompts are screened"


def test_graded_rewards_pass_when_they_differ():
    played = play(winnow.recipe("speed", pool=1), [[0.2, 0.2, 0.2, 0.3] * 4, [0.7] * 16])
    assert played.counts == [16, 4]


def test_unscorable_rollouts_neither_pass_nor_fail():
    nan = np.nan
    streams = [[nan] * 16, [nan, 1, 1, nan] + [0] * 12, [nan, 1, nan, 0] + [nan] * 12]
    played = play(winnow.recipe("speed", pool=1), streams)
    assert played.counts == [4, 4, 16]
    assert played.batch.rows.tolist() == [9, 11]


@pytest.mark.parametrize("initial", [2, 3, 4])
def test_an_overridden_size_of_the_screening_reaches_the_gate(initial):
    rule = winnow.recipe("speed", initial=initial, pool=1)
    assert rule.gate.initial == rule.allocation.initial == initial
    assert winnow.recipe("speed", n=10).allocation == Speed(further=6)


@pytest.mark.parametrize(("p", "everything", "training"), [(0.5, 0.220, 0.252), (0.1, 0.044, 0.129)])
def test_documented_bias(p, everything, training):
    streams, counts = histories(4, 12)
    played = play(winnow.recipe("speed", pool=1), streams)
    weight = history_chance(counts, (4, 12), p)
    trains = weight[np.array(played.counts) == 16].sum()
    assert trains == pytest.approx(1 - p**4 - (1 - p) ** 4)
    expected = weight @ gradients(played, p)
    assert expected == pytest.approx(everything, abs=6e-4)
    assert expected / trains == pytest.approx(training, abs=6e-4)


@pytest.mark.parametrize("seed", range(30))
def test_any_budget_is_spent_unless_nothing_is_left_to_ask_for(seed):
    rng = np.random.default_rng(seed)
    prompts = int(rng.integers(1, 40))
    settings = {"initial": int(rng.integers(2, 5)), "further": int(rng.integers(1, 9)), "pool": int(rng.integers(1, 5))}
    rule = winnow.Recipe("x", allocation=Speed(**settings, barrier=bool(seed % 2)))
    streams = (rng.random((prompts, 200)) < rng.random((prompts, 1))).astype(float)
    budget = int(rng.integers(1, prompts * rule.allocation.n + 5))
    played = play(rule, streams, budget)
    counts, wanted = np.array(played.counts), max(1, prompts // settings["pool"])
    initial, further = settings["initial"], settings["further"]
    assert counts.sum() <= budget
    assert np.count_nonzero(counts > initial) <= wanted
    screened = np.flatnonzero(counts)
    assert screened.tolist() == list(range(len(screened)))  # in the order offered
    if budget < initial + further:
        assert counts[0] == budget
        return
    short = set(counts[screened]) - {initial, initial + further}
    assert not short or (len(short) == 1 and counts.sum() == budget)  # the last one continued takes what is left
    signal = np.array([len(set(streams[i, :initial])) == 2 for i in range(len(screened))])
    continued = np.flatnonzero(counts > initial).tolist()
    assert continued == np.flatnonzero(signal).tolist()[: len(continued)]
    if budget - counts.sum() >= initial + further:  # room for one more
        assert np.count_nonzero(counts > initial) == wanted or len(screened) == prompts
        assert played.batch.reason


def test_a_budget_for_fewer_prompts_screens_fewer():
    # One wanted prompt costs 4 * 4 + 12 = 28: 60 rollouts pay two, and screen 8 of 16; the last 4 go to a third.
    played = play(winnow.recipe("speed"), [MIXED] * 16, 60)
    assert played.counts == [16, 16, 8] + [4] * 5 + [0] * 8
    assert played.batch.visited == 8
    # What the first eight did not need screens another.
    played = play(winnow.recipe("speed"), [WRONG] * 8 + [MIXED] * 8, 60)
    assert played.counts == [4] * 8 + [16] + [4] * 3 + [0] * 4


def test_screening_leaves_room_to_continue():
    # Eleven at hand, two wanted: after 24 to continue them, 56 rollouts pay 8 screenings, not 11.
    assert play(winnow.recipe("speed"), [MIXED] * 11, 56).counts == [16, 16] + [4] * 6 + [0] * 3
    assert play(winnow.recipe("speed"), [MIXED] * 11, 20).counts == [16, 4] + [0] * 9
    assert play(winnow.recipe("speed"), [MIXED] * 11, 15).counts == [15] + [0] * 10


def test_without_a_barrier_prompts_continue_as_they_pass():
    step = winnow.recipe("speed", pool=2, barrier=False).begin(4)
    assert step.ask() == [(0, 4), (1, 4), (2, 4), (3, 4)]
    step.tell([2] * 4, [0, 1, 0, 1])
    assert step.ask() == [(2, 12)]
    step.tell([0] * 4, [0, 0, 0, 0])
    assert not step.ask() and not step.done
    step.tell([1] * 4, [0, 1, 0, 1])
    assert step.ask() == [(1, 12)]
    step.tell([3] * 4 + [1] * 12 + [2] * 12, [0, 1, 0, 1] + [0] * 24)
    assert step.done
    assert set(step.finish().prompts.tolist()) == {1, 2}


def test_tokens():
    played = play(winnow.recipe("speed"), [MIXED] * 8, Budget(tokens=285, longest=5))
    assert played.counts == [16, 16] + [4] * 6
    played = play(winnow.recipe("speed"), [MIXED] * 8, Budget(tokens=200, longest=5))
    assert sum(played.counts) == 40


def test_settings_out_of_range():
    for wrong in ({"initial": 1}, {"further": 0}, {"pool": 0}, {"initial": True}):
        with pytest.raises(ConfigError, match="Speed"):
            Speed(**wrong)
    with pytest.raises(ConfigError, match="use n >= 5"):
        Speed().with_n(4)


@pytest.mark.parametrize("world", winnow.testing.worlds(), ids=lambda world: world.name)
def test_worlds(world):
    played = winnow.testing.reference(winnow.recipe("speed"), world, 3)
    assert played.drawn
    if world.name == "tied":
        assert not played.trained
