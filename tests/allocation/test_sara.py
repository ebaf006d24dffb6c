import numpy as np
import pytest
from scipy.special import betaln
from tests.allocation.played import all_streams, gradients, play
from tests.allocation.played import chance as probability

import winnow
from winnow import Budget
from winnow.advantage import Advantage
from winnow.allocation.sara import CarriedSara, Sara
from winnow.allocation.sequential import chance
from winnow.errors import ConfigError


def one(right, wrong, rest, a=1.0, b=1.0):
    return float(chance(*(np.array([value]) for value in (right, wrong, rest)), np.array([a]), np.array([b]))[0])


def test_s1_predictor():
    table = [0.7778, 0.7778, 0.6667, 0.5556, 0.4444, 0.3333, 0.2222]  # a probe of 0 to 6 that agree, of 8
    for k, wanted in enumerate(table):
        assert one(k, 0, 8 - k) == pytest.approx(wanted, abs=5e-5)
        assert one(0, k, 8 - k) == pytest.approx(wanted, abs=5e-5)


def test_s1_against_beta_functions_and_the_edges():
    for a, b, k, rest in [(1, 1, 3, 5), (2.5, 0.3, 4, 4), (7, 2, 0, 3)]:
        right = np.exp(betaln(a + k + rest, b) - betaln(a + k, b))
        wrong = np.exp(betaln(a, b + rest) - betaln(a, b)) if k == 0 else 0
        assert one(k, 0, rest, a, b) == pytest.approx(1 - right - wrong)
    assert one(1, 1, 6) == 1.0
    assert one(8, 0, 0) == 0.0
    assert one(0, 0, 1) == pytest.approx(0.0)
    assert one(0, 0, 0) == 0.0


def streams_of(*rows):
    return np.array([list(row) + [0] * (16 - len(row)) for row in rows], float)


MIXED = [0, 1] * 4


def test_commit_go_on_give_up():
    # Two wanted of six: the first is mixed at once, the second agrees five times and is given up, as is the third.
    played = play(winnow.recipe("sara"), streams_of(MIXED, [1] * 8, [0] * 8, [0] * 5 + [1], [0, 0, 0, 0, 1], MIXED))
    assert played.waves == [
        [(0, 4), (1, 4)],
        [(0, 4), (1, 1)],
        [(2, 4)],
        [(2, 1)],
        [(3, 4)],
        [(3, 1)],
        [(4, 4)],
        [(4, 1)],
        [(4, 3)],
    ]
    assert set(played.batch.prompts.tolist()) == {0, 4}
    assert played.batch.reason == "2 groups with signal, 2 wanted"
    assert played.batch.visited == 5


def test_a_lower_threshold_goes_on_longer():
    streams = streams_of([0] * 7 + [1])
    assert play(winnow.recipe("sara", abandon=0.1), streams).counts == [8]
    assert play(winnow.recipe("sara", abandon=0.12), streams).counts == [7]
    assert play(winnow.recipe("sara", abandon=0.5), streams).counts == [4]


def test_the_rest_is_drawn_while_others_are_out():
    step = winnow.recipe("sara", pool=1).begin(1)
    assert step.ask() == [(0, 4)]
    step.tell([0], [1])
    assert not step.ask()
    step.tell([0], [0])
    assert step.ask() == [(0, 4)]


def test_no_prompt_is_given_up_while_a_rollout_is_out():
    step = winnow.recipe("sara", abandon=0.6).begin(3)
    assert step.ask() == [(0, 4)]
    step.tell([0] * 3, [0, 0, 0])  # 0.56 now, but the fourth may be right
    assert not step.ask()
    step.tell([0], [1])
    assert step.ask() == [(0, 4)]


def test_a_complete_group_without_signal_is_replaced():
    # An untouched commit threshold of 0.3 commits after any probe, so the first group ends all wrong.
    rule = winnow.recipe("sara", commit=0.3, abandon=0.0)
    played = play(rule, streams_of([0] * 8, MIXED, MIXED))
    assert played.counts == [8, 8, 0]


def test_unscorable_rollouts_are_no_evidence_but_count():
    nan = np.nan
    played = play(winnow.recipe("sara", pool=1), streams_of([nan] * 8, [nan, nan, nan, nan, 1, 0]))
    # Without evidence the chance falls with what is left to draw: 1 - 2/(rest+1).
    assert played.counts[0] in range(4, 8)
    assert played.batch.ledger.unscorable == played.counts[0] + 4
    assert played.counts[1] == 8


def test_graded_outcomes_that_differ_are_mixed():
    assert play(winnow.recipe("sara", pool=1), streams_of([0.1, 0.2, 0.1, 0.1, 0, 0, 0, 0], [0.2] * 8)).counts == [8, 5]


def test_a_short_budget():
    assert play(winnow.recipe("sara"), streams_of(MIXED, MIXED, MIXED), 5).counts == [5, 0, 0]
    # 20 rollouts hold two groups of 8; the one given up leaves room for another.
    played = play(winnow.recipe("sara", pool=2), streams_of([0] * 8, MIXED, MIXED, MIXED, MIXED, MIXED), 21)
    assert played.counts == [5, 8, 8, 0, 0, 0]
    assert played.batch.reason == ""
    played = play(winnow.recipe("sara", pool=2), streams_of([0] * 8, MIXED, MIXED, MIXED, MIXED, MIXED), 22)
    assert played.batch.reason == "2 of 3 groups with signal: no room for n=8 more"


def test_what_open_prompts_may_still_need_is_not_given_to_spares():
    played = play(winnow.recipe("sara", pool=2), streams_of(*[MIXED] * 6), 21)
    assert played.counts == [8, 8, 0, 0, 0, 0]
    assert played.batch.reason == "2 of 3 groups with signal: no room for n=8 more"


@pytest.mark.parametrize("seed", range(25))
def test_any_budget_ends_and_opens_in_order(seed):
    rng = np.random.default_rng(seed)
    prompts, n = int(rng.integers(1, 20)), int(rng.integers(2, 10))
    rule = Sara(
        n=n, probe=int(rng.integers(1, n + 1)), pool=int(rng.integers(1, 4)), abandon=float(rng.uniform(0, 0.6))
    )
    streams = (rng.random((prompts, 20)) < rng.random((prompts, 1))).astype(float)
    budget = int(rng.integers(1, prompts * n + 5))
    played = play(winnow.Recipe("x", allocation=rule, gate="zero_signal"), streams, budget)
    counts = np.array(played.counts)
    assert counts.sum() <= budget and counts.max() <= n
    opened = np.flatnonzero(counts)
    assert opened.tolist() == list(range(len(opened)))
    wanted = max(1, prompts // rule.pool)
    usable = int(np.count_nonzero(played.batch.signal & (counts == n)))
    assert usable == wanted or len(opened) == prompts or budget - counts.sum() < n


def test_order_of_arrival_changes_no_group():
    streams = (np.random.default_rng(1).random((30, 16)) < 0.15).astype(float)
    expected = play(winnow.recipe("sara"), streams).counts
    for seed in range(5):
        rng, step, flying, drawn = np.random.default_rng(seed), winnow.recipe("sara").begin(30), [], np.zeros(30, int)
        while not step.done:
            for prompt, count in step.ask(limit=7 - len(flying)):
                flying += [(prompt, drawn[prompt] + i) for i in range(count)]
                drawn[prompt] += count
            prompt, place = flying.pop(rng.integers(len(flying)))
            step.tell([prompt], [streams[prompt, place]])
        assert step.finish().counts.tolist() == expected


@pytest.mark.parametrize(("p", "everything", "training"), [(0.5, 0.240, 0.256), (0.1, 0.068, 0.167)])
def test_documented_bias(p, everything, training):
    streams = all_streams(8)
    rule = winnow.Recipe("x", advantage=Advantage("rloo"), allocation=Sara(pool=1), gate="zero_signal")
    played = play(rule, streams)
    weight = probability(streams, p)
    expected = weight @ gradients(played, p)
    assert expected == pytest.approx(everything, abs=6e-4)
    assert expected / weight[played.batch.signal].sum() == pytest.approx(training, abs=6e-4)


def test_tokens():
    played = play(winnow.recipe("sara", pool=1), np.tile(MIXED, (4, 2)), Budget(tokens=100, longest=5))
    assert sum(played.counts) == 20


def test_m1_carried_belief():
    recipe = winnow.Recipe("x", allocation=CarriedSara(carry=0.9, pool=1, abandon=0.0))
    play(recipe, [[1, 0, 1, 0, 0, 0, 0, 0]])  # 2 of 8
    play(recipe, [[1, 0, 1, 1, 1, 1, 1, 0]])  # 6 of 8
    a, b = recipe.allocation.belief(np.array([0, 1]))
    assert a.tolist() == pytest.approx([8.8, 1.0])
    assert b.tolist() == pytest.approx([8.4, 1.0])


def test_a_carried_belief_gives_up_sooner_and_goes_through_a_checkpoint():
    recipe = winnow.recipe("sara-carried", pool=1)
    streams = streams_of([0] * 8, MIXED)
    assert play(recipe, streams).counts == [5, 8]
    again = winnow.recipe("sara-carried", pool=1)
    again.load_state_dict(recipe.state_dict())
    assert again.state_dict() == recipe.state_dict()
    for found in (recipe, again):
        played = play(found, streams)
        assert played.counts == [4, 8]
        assert played.waves[0] == [(0, 4), (1, 8)]  # the second is committed to at once


@pytest.mark.parametrize(
    "wrong",
    [
        {"probe": 9},
        {"probe": 0},
        {"n": 0},
        {"abandon": 0.9},
        {"abandon": -0.1},
        {"commit": 1.1},
        {"prior": 0},
        {"pool": 0},
    ],
)
def test_settings_out_of_range(wrong):
    with pytest.raises(ConfigError, match="Sara"):
        Sara(**wrong)


def test_settings_of_the_carried_rule():
    with pytest.raises(ConfigError, match="carry"):
        CarriedSara(carry=1.5)
    assert Sara().with_n(3) == Sara(n=3, probe=3)
    assert CarriedSara(carry=0.2).with_n(3) == CarriedSara(n=3, probe=3, carry=0.2)


@pytest.mark.parametrize("name", ["sara", "sara-carried"])
@pytest.mark.parametrize("world", winnow.testing.worlds(), ids=lambda world: world.name)
def test_worlds(name, world):
    played = winnow.testing.reference(winnow.recipe(name), world, 3)
    assert played.drawn
    if world.name == "tied":
        assert not played.trained


@pytest.mark.parametrize(("n", "limit"), [(20, None), (20, 4), (32, 3), (19, 1)])
def test_a_probe_comes_before_the_commitment_however_large_the_group(n, limit):
    """Under the prior alone a group of 19 or more is nearly sure to be mixed: that is no reason to skip the probe."""
    counts = []
    for singly in (False, True):
        step = winnow.recipe("sara").override(n=n, pool=1).begin(1, budget=Budget(rollouts=10_000))
        while not step.done:
            drawn = step.ask(limit).total
            for _ in range(drawn if singly else 1):
                step.tell([0] * (1 if singly else drawn), [1.0] * (1 if singly else drawn))
        counts.append(step.finish().ledger.rollouts)
    assert counts[0] == counts[1] < n
