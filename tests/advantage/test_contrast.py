import numpy as np
import pytest

import winnow
from winnow.advantage import Contrast
from winnow.errors import ConfigError

NONE = np.nan


def contrast(rewards, groups, expected=NONE, outcomes=None, noise=0.67):
    rewards = np.array([np.nan if r is None else r for r in rewards], float)
    column = np.broadcast_to(np.asarray(expected, float), rewards.shape)
    return Contrast(noise)(rewards, groups, outcomes=rewards if outcomes is None else outcomes, expected=column)


def test_by_hand():
    # One right of four: I = 3/4, f = 1/2, noise 1/4: u = 1/2 * 3/4 = 3/8; the wrong ones share -u.
    found = contrast([1, 0, 0, 0], [5] * 4, expected=0.5, noise=0.25)
    assert found == pytest.approx([0.375, -0.125, -0.125, -0.125])


def test_the_failure_rate_is_the_groups_own_where_nothing_is_expected():
    assert contrast([1, 0], [0, 0]) == pytest.approx(contrast([1, 0], [0, 0], expected=0.5))
    assert contrast([1, 0, 0], [0] * 3) == pytest.approx(contrast([1, 0, 0], [0] * 3, expected=1 - 3 / 5))


def test_ties_none_and_order():
    rewards, groups = [1, 1, None, 0, 1, 0, np.inf, 0.5], [0, 0, 0, 1, 1, 1, 1, 2]
    found = contrast(rewards, groups)
    assert not found[[0, 1, 2, 6, 7]].any() and found[[3, 4, 5]].all()
    order = np.random.default_rng(0).permutation(len(rewards))
    again = contrast([rewards[i] for i in order], np.array(groups)[order])
    assert again == pytest.approx(found[order])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e140])
def test_graded_rewards_and_their_scale(scale):
    found = contrast(np.array([0.1, 0.4, 0.4, 0.9]) * scale, [0] * 4, outcomes=np.array([0.0, 0, 0, 1]))
    assert found == pytest.approx(contrast([0.1, 0.4, 0.4, 0.9], [0] * 4, outcomes=np.array([0.0, 0, 0, 1])))
    assert found.sum() == pytest.approx(0, abs=1e-12)
    d = np.array([0.1, 0.4, 0.4, 0.9]) - 0.45
    half = np.abs(d).sum() / 2
    information = half**2 / (d**2).sum()
    u = 4 / 6 * information / (information + 0.67)
    assert found == pytest.approx(u * d / half)


def test_empty():
    assert contrast([], np.zeros(0, int)).shape == (0,)


@pytest.mark.parametrize("noise", [0.0, -1.0, np.inf, np.nan])
def test_bad_noise(noise):
    with pytest.raises(ConfigError, match="noise"):
        Contrast(noise)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
def test_large_groups_follow_the_gradient_of_log_p(p):
    """E[u] / (1 - p) is the weight of grad log p; with the pass rate known and little noise it tends to 1."""
    n = 400
    counts = np.random.default_rng(1).binomial(n, p, 200)
    weights = []
    for right in counts.tolist():
        rewards = np.repeat([1.0, 0.0], [right, n - right])
        found = contrast(rewards, np.zeros(n, int), expected=p, noise=1e-3)
        weights.append(found[found > 0].sum())
    assert np.mean(weights) / (1 - p) == pytest.approx(1, abs=0.01)


def test_it_composes_with_any_allocation():
    recipe = winnow.recipe("grpo", advantage="contrast", n=4)
    step = recipe.begin(2)
    step.ask()
    step.tell([0, 0, 0, 0, 1, 1, 1, 1], [1, 0, 0, 0, 1, 1, 1, 1])
    assert step.finish().advantages == pytest.approx(contrast([1, 0, 0, 0, 1, 1, 1, 1], [0] * 4 + [1] * 4))
