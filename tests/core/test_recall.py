import numpy as np
import pytest

import winnow
from winnow.errors import ConfigError
from winnow.recall import STRATEGIES
from winnow.recall.repo import pooled


def visit(recipe, rewards, ids=None, seed=0):
    """One step in which prompt i gets the rewards of row i."""
    ids = range(len(rewards)) if ids is None else ids
    step = recipe.begin(len(rewards), ids=ids, seed=seed)
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, rewards[prompt][:count], tokens=[3] * count)
    return step.finish()


def small(**changes):
    return winnow.recipe("repo", **{"n": 4, "k": 2, "capacity": 4, "start": 4, **changes})


def test_d10_split_and_mixed_statistics():
    def grpo(rewards, groups):
        return winnow.advantage.grpo(rewards, groups, ddof=0, eps=0.0)

    fresh, stored = ([0, 0, 0, 0], [0] * 4), ([1, 0, 0, 1], [0] * 4)
    untouched, theirs = pooled(grpo, fresh, stored, "split")
    assert untouched is None and theirs == pytest.approx([1, -1, -1, 1])
    ours, theirs = pooled(grpo, fresh, stored, "mixed")
    assert ours == pytest.approx([-0.577350] * 4, abs=1e-6)
    assert theirs == pytest.approx([1.732051, -0.577350, -0.577350, 1.732051], abs=1e-6)


def test_replay_begins_once_a_prompt_has_its_store_and_never_with_the_rollouts_of_the_step():
    recipe = small()
    first = visit(recipe, [[1, 0, 0, 1], [0, 0, 0, 0]])
    assert len(first.recalled.handles) == 0
    assert first.handles.tolist() == list(range(8)) and len(first.dropped) == 0
    second = visit(recipe, [[0, 0, 0, 0]], ids=[0])
    assert second.recalled.handles.tolist() == [2, 3] and second.recalled.rewards.tolist() == [0, 1]
    assert second.recalled.prompts.tolist() == [0, 0] and second.recalled.advantages[1] > 0
    assert second.handles.tolist() == [8, 9, 10, 11] and second.dropped.tolist() == [0, 1, 2, 3]
    third = visit(recipe, [[0, 0, 0, 0]], ids=[1])
    assert third.recalled.handles.tolist() == [6, 7] and not third.recalled.advantages.any()


def test_unscorable_rollouts_are_not_stored():
    recipe = small()
    batch = visit(recipe, [[1, np.nan, 0, 1]])
    assert batch.handles.tolist() == [0, -1, 1, 2]
    assert len(visit(recipe, [[0, 0, 0, 0]]).recalled.handles) == 0  # three are not yet four


def test_strategies():
    rewards, rng = np.array([1.0, 0.0, 0.5, 1.0, 0.2]), np.random.default_rng(0)
    assert STRATEGIES["recent"](rewards, 2, rng).tolist() == [3, 4]
    assert STRATEGIES["reward"](rewards, 1, rng).tolist() == [3]
    assert STRATEGIES["reward"](rewards, 3, rng).tolist() == [0, 2, 3]
    assert sorted(rewards[STRATEGIES["variance"](rewards, 2, rng)]) == [0.0, 1.0]
    ties = np.array([0.0] * 13 + [1.0] * 3)
    assert sorted(ties[STRATEGIES["variance"](ties, 3, rng)]) == [0.0, 1.0, 1.0]
    assert STRATEGIES["success"](rewards, 1, rng).tolist() == [3]
    assert len(STRATEGIES["success"](np.zeros(3), 1, rng)) == 0
    drawn = {tuple(STRATEGIES["random"](rewards, 2, rng)) for _ in range(200)}
    assert len(drawn) == 10


def test_only_where_nothing_succeeded():
    recipe = small(strategy="success", when="no_success", mixing="mixed", k=1, start=1)
    visit(recipe, [[1, 0, 0, 0], [1, 0, 0, 0]])
    batch = visit(recipe, [[0, 0, 0, 0], [0, 1, 0, 0]])
    assert batch.recalled.prompts.tolist() == [0] and batch.recalled.rewards.tolist() == [1.0]
    assert (batch.advantages[batch.prompts == 0] < 0).all() and batch.recalled.advantages[0] > 0


def test_state_and_settings():
    recipe = small()
    visit(recipe, [[1, 0, 0, 1]])
    again = small()
    again.load_state_dict(recipe.state_dict())
    assert again.state_dict() == recipe.state_dict()
    assert visit(again, [[0, 0, 0, 0]]).recalled.handles.tolist() == [2, 3]
    for wrong in ({"k": 20}, {"start": 0}, {"strategy": "best"}, {"mixing": "both"}, {"when": "never"}):
        with pytest.raises(ConfigError):
            winnow.recipe("repo", **wrong)
    with pytest.raises(ConfigError, match="above 0"):
        winnow.recall.Repo(strength=0.0)
