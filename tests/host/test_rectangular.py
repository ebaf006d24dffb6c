import numpy as np
import pytest

import winnow
from winnow.errors import ConfigError
from winnow.host.rectangular import rectangle


def finished(recipe, rewards, order=None):
    """Finish a step over a table of rewards (P, n), told in the given order of (prompt, draw)."""
    prompts, n = len(rewards), len(rewards[0])
    step = recipe.begin(prompts, budget=winnow.Budget(rollouts=prompts * n), seed=0)
    step.ask()
    draws = order or [(p, d) for p in range(prompts) for d in range(n)]
    for p, d in draws:
        step.tell([p], [rewards[p][d]])
    return step.finish(), [p for p, _ in draws]


def test_rows_are_those_the_recipe_kept_whatever_the_order_of_telling():
    recipe = winnow.recipe("pods", n=4, m=2)
    rewards = [[0.0, 0.3, 0.5, 1.0], [0.9, 0.1, 0.2, 0.4], [0.5, 0.6, 0.7, 0.0]]
    rng = np.random.default_rng(0)
    draws = [(p, d) for p in range(3) for d in range(4)]
    for _ in range(20):
        order = [draws[i] for i in rng.permutation(12)]
        batch, owners = finished(recipe, rewards, order)
        found = rectangle(batch, owners, 2)
        assert found.trains.all()
        assert sorted(found.rows.ravel().tolist()) == batch.rows.tolist()
        for prompt, rows in enumerate(found.rows):
            assert [owners[row] for row in rows] == [prompt] * 2
            values = sorted(rewards[prompt][order[row][1]] for row in rows)
            assert values == [min(rewards[prompt]), max(rewards[prompt])]


def test_a_prompt_with_too_few_scorable_rollouts_sits_out():
    recipe = winnow.recipe("pods", n=4, m=2)
    batch, owners = finished(recipe, [[None, None, 1.0, None], [0.0, None, 1.0, 0.5]])
    found = rectangle(batch, owners, 2)
    assert found.trains.tolist() == [False, True]
    assert found.rows.tolist() == [[0, 1], [4, 6]]


def test_gated_groups_sit_out():
    recipe = winnow.recipe("grpo", n=2, gate="zero_signal")
    batch, owners = finished(recipe, [[1.0, 1.0], [0.0, 1.0]])
    found = rectangle(batch, owners, 2)
    assert found.trains.tolist() == [False, True]
    assert found.rows.tolist() == [[0, 1], [2, 3]]


def test_groups_smaller_than_the_hosts_are_refused():
    step = winnow.recipe("vigor+pods", n=8, m=4).begin(8, seed=0)
    owners = []
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [float(len(owners) + i) for i in range(count)])
            owners += [prompt] * count
    with pytest.raises(ConfigError, match=r"got 2 rollouts, the host trains on 4"):
        rectangle(step.finish(), owners, 4)


def test_groups_larger_than_the_hosts_are_refused():
    batch, owners = finished(winnow.recipe("grpo", n=4), [[0.0, 1.0, 0.2, 0.3]])
    with pytest.raises(ConfigError, match=r"keeps 4 rollouts of prompt 0, the host trains on 2"):
        rectangle(batch, owners, 2)
