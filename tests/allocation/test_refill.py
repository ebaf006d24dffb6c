"""DAPO's dynamic sampling: case ALLOC-02, the oracles of section 18.6, and a defined end whatever happens."""

import json
from pathlib import Path

import numpy as np
import pytest

import winnow
from winnow import Budget
from winnow.allocation import Refill
from winnow.errors import ConfigError
from winnow.plan import no_signal_share

CASES = {case["id"]: case for case in json.loads((Path(__file__).parents[1] / "cases/cases.json").read_text())}


def drive(step, outcomes_of):
    """Play a sampler whose prompt p returns the outcomes ``outcomes_of(p)``; return the waves of requests."""
    waves = []
    while not step.done:
        requests = list(step.ask())
        waves.append(requests)
        for prompt, count in requests:
            step.tell([prompt] * count, list(outcomes_of(prompt))[:count])
    return waves


def test_alloc_02():
    given, expected = CASES["ALLOC-02"]["input"], CASES["ALLOC-02"]["expected"]
    n, wanted = given["n_per_group"], given["target_groups"]
    mixed, dead = [1.0] + [0.0] * (n - 1), [0.0] * n
    for factor in (1.0, 1.5, 2.0):
        recipe = winnow.recipe("dapo", n=n, pool=3, factor=factor)
        budget = Budget(rollouts=wanted * n + given["budget_left_rollouts"])
        waves = drive(recipe.begin(3 * wanted, budget=budget), lambda prompt: dead if prompt == 3 else mixed)
        assert len(waves[0]) == given["usable_after_round_1"] + 1 == wanted
        assert len(waves[1]) == (1 if factor == 1.0 else 2) <= expected["requested_new_groups_max"]
        assert len(waves) == 2


def test_d1_signal_probability():
    for n, wanted in {8: [0.0773, 0.3366, 0.5695, 0.9423, 0.9922], 4: [0.0394, 0.1855, 0.3438, 0.7518, 0.875]}.items():
        assert 1 - no_signal_share([0.01, 0.05, 0.1, 0.3, 0.5], n) == pytest.approx(wanted, abs=5e-5)


def test_d2_keeps_the_groups_with_signal():
    groups = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [0, 1, 0, 1]]
    # Three wanted of 21 at hand: 0, 1, 2; two are dead: 3, 4; one is missing: 5.
    step = winnow.recipe("dapo", n=4, pool=3).begin(9, budget=Budget(rollouts=36))
    waves = drive(step, lambda prompt: groups[prompt])
    batch = step.finish()
    assert [[prompt for prompt, _ in wave] for wave in waves] == [[0, 1, 2], [3, 4], [5]]
    assert sorted(set(batch.prompts.tolist())) == [2, 3, 5]
    assert batch.reason == "3 groups with signal, 3 wanted"
    assert batch.ledger.gated == 12
    assert batch.kept_rows == 12


def test_d3_expected_draws():
    """At keep rate q, W groups take W / q groups on average, as long as the spares last."""
    rng = np.random.default_rng(0)
    for keep in (0.4, 0.6):
        opened = []
        for _ in range(60):
            alive = rng.random(400) < keep
            step = winnow.recipe("dapo", n=2, pool=10).begin(400, budget=Budget(rollouts=800))
            waves = drive(step, lambda prompt, alive=alive: [1, 0] if alive[prompt] else [0, 0])
            opened.append(sum(map(len, waves)))
        assert np.mean(opened) == pytest.approx(40 / keep, rel=0.05)


@pytest.mark.parametrize("barrier", [True, False])
def test_ends_when_no_prompt_ever_shows_signal(barrier):
    step = winnow.recipe("dapo", n=4, pool=3, barrier=barrier).begin(12, budget=Budget(rollouts=48))
    drive(step, lambda prompt: [0, 0, 0, 0])
    batch = step.finish()
    assert batch.ledger.rollouts == 48
    assert batch.kept_rows == 0
    assert step.in_flight == 0
    short = winnow.recipe("dapo", n=4, pool=3, barrier=barrier).begin(12, budget=Budget(rollouts=22))
    drive(short, lambda prompt: [0, 0, 0, 0])
    assert short.finish().ledger.rollouts == 20
    assert short.finish().reason == "0 of 4 groups with signal: no room for n=4 more"


def test_a_budget_below_one_group_is_spent_and_ends():
    step = winnow.recipe("dapo", n=8).begin(3, budget=Budget(rollouts=5))
    assert drive(step, lambda prompt: [1, 0, 0, 0, 0]) == [[(0, 5)]]
    assert step.finish().kept_rows == 5


def test_without_a_barrier_a_dead_group_is_replaced_while_others_run():
    step = winnow.recipe("dapo", n=2, pool=3, barrier=False).begin(9, budget=Budget(rollouts=18))
    assert list(step.ask()) == [(0, 2), (1, 2), (2, 2)]
    assert not step.ask()
    step.tell([1, 1], [0, 0])
    assert list(step.ask()) == [(3, 2)]
    step.tell([0, 0, 2, 2], [1, 0, 0, 1])
    assert not step.ask()
    step.tell([3], [1])
    assert not step.done
    step.tell([3], [0])
    assert step.done
    assert step.finish().ledger.rollouts == 8


def test_a_group_without_verdicts_is_replaced():
    step = winnow.recipe("dapo", n=2, pool=3).begin(3, budget=Budget(rollouts=6))
    waves = drive(step, lambda prompt: [None, None] if prompt == 0 else [1, 0])
    assert [wave[0][0] for wave in waves] == [0, 1]


def test_token_budget_is_never_exceeded():
    step = winnow.recipe("dapo", n=4, pool=3).begin(12, budget=Budget(tokens=100, longest=10))
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [0.0] * count, tokens=[7] * count)
    assert step.finish().ledger.tokens <= 100


@pytest.mark.parametrize(
    ("setting", "value"),
    [("factor", 0.5), ("factor", float("inf")), ("factor", float("nan")), ("pool", 0), ("pool", 1.5), ("n", 0)],
)
def test_settings_out_of_range(setting, value):
    with pytest.raises(ConfigError, match=f"Refill.{setting}="):
        Refill(**{setting: value})
