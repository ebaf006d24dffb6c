"""The worked example D3 of the specification, and the edges."""

import numpy as np
import pytest

from winnow.advantage import reinforce_pp, returns_to_go
from winnow.errors import ConfigError

REWARDS = [1, 0, 0, 1, 1, 0, 1, 1, 1]
GROUPS = [0, 0, 0, 0, 1, 1, 2, 2, 2]
LENGTHS = [2, 4, 4, 2, 3, 5, 1, 1, 2]


@pytest.mark.parametrize(
    ("baseline", "statistics", "ddof", "mixed_right", "wrong", "all_right"),
    [
        (False, "rollout", 0, 0.707107, -1.414214, 0.707107),
        (False, "token", 0, 1.087115, -0.919866, 1.087115),
        (False, "token", 1, 1.064225, -0.900498, 1.064225),
        (True, "rollout", 0, 1.224745, -1.224745, 0),
        (True, "token", 0, 1.423737, -0.854242, 0.284747),
        (True, "token", 1, 1.393760, -0.836256, 0.278752),
    ],
)
def test_d3(baseline, statistics, ddof, mixed_right, wrong, all_right):
    found = reinforce_pp(REWARDS, GROUPS, baseline=baseline, lengths=LENGTHS, statistics=statistics, ddof=ddof)
    wanted = [
        all_right if group == 2 else mixed_right if r else wrong for r, group in zip(REWARDS, GROUPS, strict=True)
    ]
    assert found == pytest.approx(wanted, abs=1e-6)


def test_order_nan_and_a_batch_that_does_not_vary():
    order = np.random.default_rng(0).permutation(9)
    straight = reinforce_pp(REWARDS, GROUPS)
    assert reinforce_pp(np.array(REWARDS)[order], np.array(GROUPS)[order]) == pytest.approx(straight[order])
    padded = reinforce_pp([*REWARDS, None], [*GROUPS, 0])
    assert padded[:9] == pytest.approx(straight)
    assert padded[9] == 0
    assert reinforce_pp([0.7] * 5, [0, 0, 1, 1, 1], baseline=False).tolist() == [0.0] * 5
    assert reinforce_pp([]).tolist() == []
    with pytest.raises(ValueError, match="needs lengths"):
        reinforce_pp([1, 0], statistics="token")
    with pytest.raises(ConfigError, match="did you mean 'token'"):
        reinforce_pp([1, 0], statistics="tokens")


def test_d3_k1_return_to_go():
    assert returns_to_go(1.0, [0.1, -0.2, 0.3], 0.01) == pytest.approx([0.998, 0.999, 0.997], abs=1e-12)
    assert returns_to_go(1.0, [], 0.01).shape == (0,)
    assert returns_to_go(0.5, [3.0, 4.0], 0.0).tolist() == [0.5, 0.5]
