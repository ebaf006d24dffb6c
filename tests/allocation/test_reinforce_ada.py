import numpy as np
import pytest
from tests.allocation.played import all_streams, chance, gradients, histories, history_chance, play

import winnow
from winnow import Budget
from winnow.advantage import Advantage
from winnow.allocation.reinforce_ada import ReinforceAda
from winnow.errors import ConfigError

STREAMS = {
    "R1": [0, 1, 0, 1] + [0] * 12,
    "R2": [0] * 5 + [1] + [0] * 10,
    "R3": [0] * 16,
    "R4": [1] * 16,
    "R5": [0, 0, 1, 0] + [0] * 9 + [1, 0, 0],
    "R6": [1] * 7 + [0] + [1] * 5 + [0, 1, 1],
}
POS = {  # rollouts drawn, places kept, advantages centred over all drawn; R1 to R6 of selection.md 18.7
    "R1": (4, [0, 1, 2, 3], [-0.5, 0.5, -0.5, 0.5]),
    "R2": (8, [0, 1, 2, 5], [-0.125, -0.125, -0.125, 0.875]),
    "R3": (16, [0, 1, 2, 3], [0, 0, 0, 0]),
    "R4": (4, [0, 1, 2, 3], [0, 0, 0, 0]),
    "R5": (4, [0, 1, 2, 3], [-0.25, -0.25, 0.75, -0.25]),
    "R6": (4, [0, 1, 2, 3], [0, 0, 0, 0]),
}
BALANCED = {
    "R1": (4, [0, 1, 2, 3], [-0.5, 0.5, -0.5, 0.5]),
    "R2": (16, [0, 1, 2, 5], [-0.0625, -0.0625, -0.0625, 0.9375]),
    "R3": (16, [0, 1, 2, 3], [0, 0, 0, 0]),
    "R4": (16, [0, 1, 2, 3], [0, 0, 0, 0]),
    "R5": (16, [0, 1, 2, 13], [-0.125, -0.125, 0.875, 0.875]),
    "R6": (16, [0, 1, 7, 13], [0.125, 0.125, -0.875, -0.875]),
}
DIVIDED = {  # by the ddof-1 deviation of all drawn, eps 1e-6
    ("pos", "R2"): (2.47487, -0.35355),
    ("pos", "R5"): (1.5, -0.5),
    ("balanced", "R2"): (3.74999, -0.25),
    ("balanced", "R5"): (2.56173, -0.36596),
    ("balanced", "R6"): (0.36596, -2.56173),
}


def recipe(variant, **changes):
    return winnow.recipe(f"reinforce-ada-{variant}", **{"n": 16, "size": 4, **changes})


@pytest.mark.parametrize("barrier", [True, False])
@pytest.mark.parametrize(("variant", "table"), [("pos", POS), ("balanced", BALANCED)])
def test_r1_to_r6(variant, table, barrier):
    played = play(recipe(variant, barrier=barrier), [STREAMS[name] for name in table])
    for prompt, (drawn, places, advantages) in enumerate(table.values()):
        assert played.counts[prompt] == drawn
        found = played.kept(prompt)
        assert sorted(found[0]) == places
        assert [value for _, value in sorted(zip(*found, strict=True))] == pytest.approx(advantages, abs=1e-12)


@pytest.mark.parametrize(("case", "values"), DIVIDED.items())
def test_r2_r5_r6_divided_by_the_deviation_of_all_drawn(case, values):
    variant, name = case
    rule = recipe(variant, advantage=Advantage("grpo", ddof=1, eps=1e-6))
    _, advantages = play(rule, [STREAMS[name]]).kept(0)
    assert sorted(set(np.round(advantages, 5)), reverse=True) == pytest.approx(values, abs=1.1e-5)


RATES = [0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1]
R7 = {
    "pos": [32, 19.164, 13.564, 8.489, 8.031, 8.001, 8, 8, 8],
    "balanced": [32, 27.315, 20.962, 10.279, 8.567, 10.279, 20.962, 27.315, 32],
}
BASELINES = {
    "pos": [0, 0.078, 0.130, 0.309, 0.501, 0.700, 0.900, 0.950, 1],
    "balanced": [0, 0.066, 0.132, 0.328, 0.5, 0.672, 0.868, 0.934, 1],
}
GRADIENTS = {"pos": {0.1: 0.252, 0.5: 0.243}, "balanced": {0.1: 0.355, 0.5: 0.25}}


@pytest.mark.parametrize("variant", ["pos", "balanced"])
def test_r7_expected_rollouts_baseline_and_gradient(variant):
    """All 9^4 ways in which successes can fall on four rounds of 8, in one step."""
    streams, counts = histories(8, 8, 8, 8)
    played = play(recipe(variant, n=32, size=8), streams)
    drawn = np.array(played.counts)
    mean = np.cumsum(streams, axis=1)[np.arange(len(streams)), drawn - 1] / drawn
    for p, rollouts, baseline in zip(RATES, R7[variant], BASELINES[variant], strict=True):
        weight = history_chance(counts, (8, 8, 8, 8), p)
        assert weight @ drawn == pytest.approx(rollouts, abs=6e-4)
        assert weight @ mean == pytest.approx(baseline, abs=6e-4)
        if p in GRADIENTS[variant]:
            assert weight @ gradients(played, p) == pytest.approx(GRADIENTS[variant][p], abs=6e-4)


@pytest.mark.parametrize(("p", "biased", "true"), [(0.5, 0.3542, 0.25), (0.1, 0.1323, 0.09)])
def test_stopping_by_outcome_biases_even_leave_one_out(p, biased, true):
    """Draw 2, and 2 more when both are equal: objectives, section 0."""
    streams = all_streams(4)
    base = winnow.Recipe("x", advantage=Advantage("rloo"))
    stopping = base.override(allocation=ReinforceAda(n=4, size=2, positives=1, negatives=1))
    assert chance(streams, p) @ gradients(play(stopping, streams), p) == pytest.approx(biased, abs=5e-5)
    assert chance(streams, p) @ gradients(play(base.override(n=4), streams), p) == pytest.approx(true)


def test_unscorable_rollouts_count_towards_n_only():
    streams = np.zeros((3, 16))
    streams[0] = np.nan  # never a verdict
    streams[1, :4] = np.nan, np.nan, np.nan, 1
    streams[2, 4:8] = np.nan, 1, np.nan, np.nan
    played = play(recipe("pos"), streams)
    assert played.counts == [16, 4, 8]
    assert played.batch.ledger.unscorable == 22
    _, advantages = played.kept(2)
    assert sorted(advantages) == pytest.approx([-0.2, -0.2, -0.2, 0.8])  # 1 of the 5 scorable ones is right


def test_a_rollout_without_a_verdict_is_no_failure():
    nan = np.nan
    streams = [[1, 1, nan, nan, 1, 0, nan, nan, 0, 1, 1, 1] + [1] * 4]
    assert play(recipe("balanced"), streams).counts == [12]


@pytest.mark.parametrize("barrier", [True, False])
@pytest.mark.parametrize("budget", [1, 5, 23, 24, 25, 47, 60, 77, 96, 200])
def test_a_short_budget_is_spent_exactly_and_evenly(budget, barrier):
    streams = np.zeros((6, 16))
    played = play(recipe("pos", barrier=barrier), streams, budget)
    assert sum(played.counts) == min(budget, 96)
    assert max(played.counts) - min(played.counts) <= 1
    assert bool(played.batch.reason) == (budget > 96)


def test_what_is_left_over_is_named():
    played = play(recipe("pos"), [STREAMS["R1"], STREAMS["R3"]])
    assert played.counts == [4, 16]
    assert played.batch.reason == "1 of 2 prompts have seen enough, 1 got n=16"


def test_order_of_arrival_changes_no_group():
    """Without a barrier, results trickle in one at a time and at random."""
    streams = (np.random.default_rng(1).random((12, 16)) < 0.15).astype(float)
    expected = play(recipe("balanced"), streams)
    step, rng = recipe("balanced", barrier=False).begin(12), np.random.default_rng(2)
    flying, drawn = [], np.zeros(12, int)
    while not step.done:
        for prompt, count in step.ask(limit=7 - len(flying)):
            flying += [(prompt, drawn[prompt] + i) for i in range(count)]
            drawn[prompt] += count
        prompt, place = flying.pop(rng.integers(len(flying)))
        step.tell([prompt], [streams[prompt, place]])
    assert step.finish().counts.tolist() == expected.counts


def test_a_token_budget_draws_until_it_is_spent():
    played = play(recipe("pos"), np.zeros((4, 16)), Budget(tokens=200, longest=5))
    assert sum(played.counts) == 40
    played = play(recipe("pos"), np.ones((4, 16)), Budget(tokens=200, longest=5))
    assert sum(played.counts) == 16 and "4 of 4 prompts" in played.batch.reason


def test_n_cuts_the_last_round():
    assert play(recipe("pos", n=10), np.zeros((1, 16))).counts == [10]
    assert ReinforceAda().with_n(10).n == 10


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"size": 0},
        {"positives": -1},
        {"positives": 0, "negatives": 0},
        {"n": 4, "positives": 3},
        {"size": 1.5},
    ],
)
def test_settings_out_of_range(wrong):
    with pytest.raises(ConfigError, match="ReinforceAda"):
        ReinforceAda(**wrong)


@pytest.mark.parametrize("name", ["reinforce-ada-pos", "reinforce-ada-balanced"])
@pytest.mark.parametrize("world", winnow.testing.worlds(), ids=lambda world: world.name)
def test_worlds(name, world):
    played = winnow.testing.reference(winnow.recipe(name), world, 3)
    assert played.drawn
    if world.name == "tied":
        assert not any(played.trained.values())
