import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage.whitened import Whitened
from winnow.errors import ConfigError

GROUPS = [[1, 0, 0, 1], [1, 0], [1, 1, 1]]
REWARDS, OWNERS = np.concatenate(GROUPS).astype(float), np.repeat([0, 1, 2], [4, 2, 3])
LENGTHS = np.array([2, 4, 4, 2, 3, 5, 1, 1, 2])
CASES = [  # baseline, statistics, ddof, values of a 1 in a mixed group, a 0, a 1 in the all-right group
    (False, "rollout", 0, (0.707107, -1.414214, 0.707107)),
    (False, "token", 0, (1.087115, -0.919866, 1.087115)),
    (False, "token", 1, (1.064225, -0.900498, 1.064225)),
    (True, "rollout", 0, (1.224745, -1.224745, 0)),
    (True, "token", 0, (1.423737, -0.854242, 0.284747)),
    (True, "token", 1, (1.393760, -0.836256, 0.278752)),
]


@pytest.mark.parametrize(("baseline", "statistics", "ddof", "values"), CASES)
def test_d3(baseline, statistics, ddof, values):
    found = Whitened(baseline, statistics, ddof)(REWARDS, OWNERS, lengths=LENGTHS)
    assert found[[0, 1, 6]] == pytest.approx(values, abs=1e-6)
    name = "reinforce++-baseline" if baseline else "reinforce++"
    step = winnow.recipe(name, statistics=statistics, ddof=ddof, n=4).begin(3)
    step.ask()
    step.tell([0] * 4, REWARDS[:4], tokens=LENGTHS[:4])
    step.tell([1] * 4, [1.0, 0.0, None, None], tokens=[3, 5, 7, 7])
    step.tell([2] * 4, [1.0, 1.0, 1.0, None], tokens=[1, 1, 2, 7])
    assert step.finish().advantages[[0, 1, 6]] == pytest.approx(values, abs=1e-6)


def test_statistics_over_tokens_need_tokens():
    for settings in ({"statistics": "sequence"}, {"ddof": 2}):
        with pytest.raises(ConfigError):
            Whitened(**settings)
    with pytest.raises(ConfigError, match="tokens="):
        Whitened(statistics="token")(REWARDS, OWNERS, lengths=np.zeros(9))


def test_worlds():
    check_worlds(winnow.recipe("reinforce++"))
    check_worlds(winnow.recipe("reinforce++-baseline"))
    check_worlds(winnow.recipe("reinforce++-baseline", statistics="token", ddof=1))


def test_rounding_does_not_reach_groups_without_signal():
    rewards, owners = np.array([0.0, 0, 0, 0, 0, 1]), np.array([0, 1, 1, 1, 1, 1])
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(6)
        found = Whitened()(rewards[order], owners[order], lengths=np.ones(6, int))
        assert found[owners[order] == 0] == 0.0 and np.count_nonzero(found) == 5
