import itertools

import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage.maxrl import maxrl


def test_d1():
    assert maxrl([1, 0, 0, 1]).tolist() == [1, -1, -1, 1]
    assert maxrl([0, 0]).tolist() == [0, 0] and maxrl([1, 1]).tolist() == [0, 0] and maxrl([1]).tolist() == [0]
    assert maxrl([1] + [0] * 7).tolist() == [7] + [-1] * 7


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_expected_gradient_is_that_of_the_truncated_logarithm(p, n):
    """d/dtheta of -sum over k = 1..n-1 of (1-p)^k / k for a Bernoulli policy with one logit, where dp/dtheta = p (1-p).

    With c of n right the mean of advantage times score r - p is (1-p) - (c/n - p) = 1 - c/n for c > 0, else 0, so its
    expectation is (1-p) - (1-p)^n, which is p (1-p) times the sum of (1-p)^(k-1).
    """
    total = 0.0
    for draws in itertools.product((0, 1), repeat=n):
        rewards = np.array(draws, float)
        chance = np.prod(np.where(rewards == 1, p, 1 - p))
        total += chance * np.mean(maxrl(rewards) * (rewards - p))
    wanted = p * (1 - p) * sum((1 - p) ** (k - 1) for k in range(1, n))
    assert total == pytest.approx(wanted)


def test_negative_rewards_are_refused_and_worlds_play():
    with pytest.raises(ValueError, match=r"rewards >= 0, found -0.5"):
        maxrl([1.0, -0.5, np.nan])
    assert maxrl([np.nan, 1.0, 0.0]).tolist() == [0, 1, -1]
    check_worlds(winnow.recipe("maxrl"))
