import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage import grpo
from winnow.advantage.overlong import Overlong, overlong_penalty
from winnow.errors import ConfigError


def test_d4_d5_penalty():
    lengths = [0, 16384, 16385, 17408, 18432, 20480, 20481]
    wanted = [0, 0, -0.000244, -0.25, -0.5, -1, -1]
    assert overlong_penalty(lengths, 20480, 4096) == pytest.approx(wanted, abs=1e-6)


def test_the_reward_pays_and_the_verdict_does_not():
    recipe = winnow.recipe("dapo-overlong", longest=100, cache=20, n=2, pool=1)
    step = recipe.begin(2)
    step.ask()
    step.tell([0, 0, 1, 1], [1.0, 1.0, 1.0, 0.0], tokens=[50, 95, 90, 50])
    batch = step.finish()
    assert batch.signal.tolist() == [False, True]
    assert batch.fates == ("gated", "gated", "trained", "trained")
    assert batch.advantages == pytest.approx(grpo([0.5, 0.0]))


def test_without_a_gate_lengths_train_where_verdicts_are_equal():
    rule = Overlong(100, 20, penalty=2.0, base="centred")
    assert rule([1.0, 1.0], [0, 0], lengths=[50, 90]).tolist() == [0.5, -0.5]
    assert rule([1.0, 1.0], [0, 0], lengths=[50, 80]).tolist() == [0, 0]
    assert Overlong(100, 20, base="rloo")([1.0, np.nan, 0.0], [0] * 3, lengths=[100, 1, 1]).tolist() == [0, 0, 0]


def test_settings_and_worlds():
    for wrong in (
        {"longest": 10, "cache": 11},
        {"longest": 0},
        {"cache": 0},
        {"penalty": -1.0},
        {"base": "opo"},
        {"base": "grop"},
        {"ddof": 2},
    ):
        with pytest.raises(ConfigError):
            Overlong(**wrong)
    check_worlds(winnow.recipe("dapo-overlong", longest=10))
    check_worlds(winnow.recipe("dapo-overlong", longest=10, cache=5))


def test_the_limit_has_to_be_known_and_the_cache_is_a_fifth_of_it():
    with pytest.raises(ConfigError, match=r"longest=\.\.\."):
        winnow.recipe("dapo-overlong").advantage([1.0, 0.0], [0, 0], lengths=np.array([1, 2]))
    lengths = np.arange(0, 110, 5)
    rewards, groups = np.zeros(len(lengths)), np.zeros(len(lengths), int)
    found = Overlong(100, base="centred")(rewards, groups, lengths=lengths)
    assert found.tolist() == Overlong(100, 20, base="centred")(rewards, groups, lengths=lengths).tolist()
    assert Overlong(3)(rewards, groups, lengths=lengths).any()
