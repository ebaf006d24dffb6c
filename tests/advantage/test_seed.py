import math

import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.advantage.seed import Seed, answer_entropy
from winnow.errors import ConfigError

CASES = [  # counts, plug-in and mean-log entropy in nats
    ([5, 2, 1], 0.900256, 1.311913),
    ([8], 0, 0),
    ([4, 4], math.log(2), math.log(2)),
    ([1] * 8, math.log(8), math.log(8)),
]


def answers(counts):
    return np.array([str(kind) for kind, count in enumerate(counts) for _ in range(count)], object)


@pytest.mark.parametrize(("counts", "plugin", "mean_log"), CASES)
def test_d10_entropies(counts, plugin, mean_log):
    for form, nats in (("plugin", plugin), ("mean_log", mean_log)):
        assert answer_entropy(answers(counts), [0] * 8, form) == pytest.approx([nats / math.log(8)] * 8, abs=1e-6)


def test_d10_weight():
    rewards = np.array([1.0, 0, 0, 0, 0, 0, 0, 0])
    centred = rewards - rewards.mean()
    found = Seed(0.5, "plugin")(rewards, [0] * 8, answers=answers([5, 2, 1]))
    assert found == pytest.approx(0.783534 * centred, abs=1e-6)
    found = Seed(0.5)(rewards, [0] * 8, answers=answers([5, 2, 1]))
    assert found == pytest.approx((1 - 0.5 * 0.630897) * centred, abs=1e-6)
    found = Seed(0.5, shape="exponential")(rewards, [0] * 8, answers=answers([5, 2, 1]))
    assert found == pytest.approx(math.exp(-0.5 * 0.630897) * centred, abs=1e-6)
    assert Seed()(rewards, [0] * 8, answers=answers([8])) == pytest.approx(centred)


def test_each_prompt_is_measured_by_its_own_size_over_its_scorable_rollouts():
    groups = np.array([0, 1, 0, 1, 0, 1, 1])
    texts = np.array(["a", "a", "b", "b", None, "c", "d"], object)
    rewards = np.array([1.0, 1, 0, 0, np.nan, 0, 0])
    found = Seed(1.0)(rewards, groups, answers=texts)
    assert found.tolist() == [0.0] * 7  # every scorable answer differs: full entropy in both groups
    half = Seed(1.0)(rewards, groups, answers=np.array(["a", "a", "a", "a", "b", "c", "d"], object))
    assert half[[0, 2]] == pytest.approx([0.5, -0.5])  # one answer among the scorable ones: entropy 0
    entropy = (math.log(2) + 2 * math.log(4)) / 3 / math.log(4)
    assert half[[1, 3, 5, 6]] == pytest.approx((1 - entropy) * np.array([0.75, -0.25, -0.25, -0.25]))


def test_no_answer_is_an_answer():
    texts = np.array([None, np.nan, None, None], object)
    assert answer_entropy(texts, [0] * 4, "plugin").tolist() == [0.0] * 4


def test_settings_columns_and_worlds():
    for wrong in ({"alpha": 1.5}, {"entropy": "exact"}, {"shape": "focal"}):
        with pytest.raises(ConfigError):
            Seed(**wrong)
    recipe = winnow.recipe("seed-grpo")
    assert recipe.needs == ("answers",)
    check_worlds(recipe)
    with pytest.raises(ConfigError, match="answers="):
        step = recipe.begin(1)
        step.tell([0] * step.ask().total, [1.0] * 8)
