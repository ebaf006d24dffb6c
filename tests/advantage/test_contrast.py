import numpy as np
import pytest

import winnow
from winnow.advantage import Contrast
from winnow.effect import Noise, worth
from winnow.errors import ConfigError

EQUAL = {"noise_right": 0.25, "noise_wrong": 0.25}


def contrast(rewards, groups, **noise):
    return Contrast(**noise)(np.array([np.nan if r is None else r for r in rewards], float), groups)


def test_by_hand():
    # One right of four, f = 3/4: P = (9/16) / (1/4) + 3 (1/16) / (1/2) = 2.25 + 0.375.
    found = contrast([1, 0, 0, 0], [5] * 4, noise_right=0.25, noise_wrong=0.5)
    right, wrong = (9 / 16) / 0.25 / 3.625, -(3 / 4) * (1 / 4) / 0.5 / 3.625
    assert found == pytest.approx([right, wrong, wrong, wrong])


def test_equal_noise_is_the_symmetric_contrast():
    """Both sides add up to u = f I / (I + noise), I = r w / n."""
    found = contrast([1, 1, 1, 0], [0] * 4, **EQUAL)
    u = 0.25 * 0.75 / (0.75 + 0.25)
    assert found == pytest.approx([u / 3, u / 3, u / 3, -u])


def test_right_rollouts_alone_where_wrong_ones_are_noise():
    """Then every mixed group counts the same, whatever its pass rate: the mean score of what is right."""
    found = contrast([1, 0, 0, 0, 1, 1, 1, 0, 1, 1], [0] * 4 + [1] * 4 + [2] * 2, noise_right=1e-9, noise_wrong=1e9)
    assert found == pytest.approx([1, 0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0], abs=1e-6)


def test_it_is_the_weighting_of_least_noise():
    """Among all weights of the two sides with the same mean, none has less variance; and P is its inverse."""
    r, w, noise = 3, 5, Noise(0.2, 0.9)
    failing, passing = w / (r + w), r / (r + w)
    found = contrast([1] * r + [0] * w, [0] * (r + w), noise_right=noise.right, noise_wrong=noise.wrong)
    of_right, of_wrong = found[:r].sum(), -found[r:].sum()

    def variance(x, y):
        """Of x mean(right) - y mean(wrong), for a mean of 1 along the gradient of the log-odds."""
        mean = x * failing + y * passing
        return (x**2 * noise.right / r + y**2 * noise.wrong / w) / mean**2

    best = variance(of_right, of_wrong)
    assert all(variance(x, 1 - x) >= best - 1e-12 for x in np.linspace(0, 1, 101))
    assert 1 / best == pytest.approx(float(worth(r, w, failing, noise, 0.0).precision))


def test_ties_none_and_order():
    rewards, groups = [1, 1, None, 0, 1, 0, np.inf, 0.5], [0, 0, 0, 1, 1, 1, 1, 2]
    found = contrast(rewards, groups)
    assert not found[[0, 1, 2, 6, 7]].any() and found[[3, 4, 5]].all()
    order = np.random.default_rng(0).permutation(len(rewards))
    again = contrast([rewards[i] for i in order], np.array(groups)[order])
    assert again == pytest.approx(found[order])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e140])
def test_graded_rewards_and_their_scale(scale):
    rewards = np.array([0.1, 0.4, 0.4, 0.9])
    found = contrast(rewards * scale, [0] * 4, **EQUAL)
    d = (rewards - 0.45) / 0.8
    failing = 0.45 / 0.8
    assert found == pytest.approx(failing * d / 0.25 / (1 + (d**2).sum() / 0.25))
    assert found.sum() == pytest.approx(0, abs=1e-12)


def test_float32_and_offsets():
    rewards = np.array([0.0, 1.0, 0.0, 0.0], np.float32)
    assert contrast(rewards + np.float32(1e6), [0] * 4) == pytest.approx(contrast(rewards, [0] * 4))


def test_empty():
    assert contrast([], np.zeros(0, int)).shape == (0,)


@pytest.mark.parametrize("noise", [0.0, -1.0, np.inf, np.nan])
@pytest.mark.parametrize("side", ["right", "wrong"])
def test_bad_noise(side, noise):
    with pytest.raises(ConfigError, match=side):
        Contrast(**{f"noise_{side}": noise})


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
def test_large_groups_follow_the_gradient_of_log_p(p):
    """The two sides add up to a mean of (1 - p) grad log(p / (1 - p)), which is grad log p."""
    n = 400
    counts = np.random.default_rng(1).binomial(n, p, 200)
    means = []
    for right in counts.tolist():
        found = contrast(
            np.repeat([1.0, 0.0], [right, n - right]), np.zeros(n, int), noise_right=1e-3, noise_wrong=1e-2
        )
        means.append(found[found > 0].sum() * (1 - p) - found[found < 0].sum() * p)
    assert np.mean(means) / (1 - p) == pytest.approx(1, abs=0.02)


def test_it_composes_with_any_allocation():
    recipe = winnow.recipe("grpo", advantage="contrast", n=4)
    step = recipe.begin(2)
    step.ask()
    step.tell([0, 0, 0, 0, 1, 1, 1, 1], [1, 0, 0, 0, 1, 1, 1, 1])
    assert step.finish().advantages == pytest.approx(contrast([1, 0, 0, 0, 1, 1, 1, 1], [0] * 4 + [1] * 4))
