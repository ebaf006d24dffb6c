import numpy as np
import pytest
from tests.allocation.played import all_streams, chance, gradients, play

import winnow
from winnow import Budget
from winnow.advantage import Advantage
from winnow.allocation.ar3po import Ar3po
from winnow.errors import ConfigError


def test_a_prompt_leaves_at_its_first_success():
    streams = np.zeros((4, 12))
    streams[0, 3] = streams[1, 4] = streams[2, 11] = 1
    played = play(winnow.recipe("ar3po", n=12, size=4), streams)
    assert played.waves == [
        [(0, 4), (1, 4), (2, 4), (3, 4)],
        [(1, 4), (2, 4), (3, 4)],
        [(2, 4), (3, 4)],
    ]
    assert played.batch.signal.tolist() == [True, True, True, False]
    assert played.batch.kept_rows == 36  # all rollouts of a prompt are its group
    assert played.batch.reason == "3 of 4 prompts have seen enough, 1 got n=12"


def test_a_prompt_that_is_always_right_stays_small():
    assert play(winnow.recipe("ar3po"), np.ones((2, 8))).counts == [4, 4]


@pytest.mark.parametrize(("p", "biased", "true"), [(0.5, 0.262, 0.25), (0.1, 0.121, 0.09)])
def test_documented_bias(p, biased, true):
    streams = all_streams(8)
    rule = winnow.Recipe("x", advantage=Advantage("rloo"), allocation=Ar3po())
    assert chance(streams, p) @ gradients(play(rule, streams), p) == pytest.approx(biased, abs=6e-4)
    assert chance(streams, p) @ gradients(play(rule.override(size=8), streams), p) == pytest.approx(true)


@pytest.mark.parametrize("budget", [1, 7, 20, 21, 33, 40, 100])
def test_a_short_budget_is_spent_exactly_and_evenly(budget):
    played = play(winnow.recipe("ar3po"), np.zeros((5, 8)), budget)
    assert sum(played.counts) == min(budget, 40)
    assert max(played.counts) - min(played.counts) <= 1


def test_tokens():
    played = play(winnow.recipe("ar3po"), np.zeros((5, 8)), Budget(tokens=150, longest=5))
    assert sum(played.counts) == 30


@pytest.mark.parametrize("wrong", [{"n": 0}, {"size": 0}])
def test_settings_out_of_range(wrong):
    with pytest.raises(ConfigError, match="Ar3po"):
        Ar3po(**wrong)


@pytest.mark.parametrize("world", winnow.testing.worlds(), ids=lambda world: world.name)
def test_worlds(world):
    assert winnow.testing.reference(winnow.recipe("ar3po"), world, 3).drawn
