import numpy as np
import pytest
from tests.advantage.played import check_worlds

import winnow
from winnow.errors import ConfigError
from winnow.selection.prof import Prof


def kept(outcomes, scores, groups=None, seed=0, m=4, **settings):
    groups = np.zeros(len(outcomes), int) if groups is None else groups
    rng = np.random.default_rng(seed)
    outcomes = np.asarray(outcomes, float)
    rule = Prof(m, **settings)
    return rule(outcomes, groups, rng, scores=np.asarray(scores, float), outcomes=outcomes).rows.tolist()


CASES = [((4, 4), (2, 2)), ((6, 2), (4, 0)), ((8, 0), (4, 0)), ((1, 7), (0, 4)), ((0, 8), (0, 4)), ((7, 1), (4, 0)),
         ((2, 6), (0, 4))]  # fmt: skip


@pytest.mark.parametrize(("sides", "dropped"), CASES)
def test_d10_how_many_of_each_side_go(sides, dropped):
    outcomes = np.array([1] * sides[0] + [0] * sides[1])
    rows = kept(outcomes, np.full(8, 0.5))
    left = outcomes[rows].sum(), len(rows) - outcomes[rows].sum()
    assert (sides[0] - left[0], sides[1] - left[1]) == dropped


def plain(right, scores, m):
    """The rule rollout by rollout, with Python's rounding."""
    k = len(right) - min(m, len(right))
    of_right = max(0, min(k, round((sum(right) - (len(right) - sum(right)) + k) / 2)))
    drop = set()
    for side, count in ((1, of_right), (0, k - of_right)):
        rows = [i for i in range(len(right)) if right[i] == side]
        assert count <= len(rows)
        drop |= set(sorted(rows, key=lambda i: ((2 * scores[i] - 1) * (1 if side else -1), -i))[:count])
    return [i for i in range(len(right)) if i not in drop]


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7])
def test_every_split_against_the_plain_rule(m):
    rng = np.random.default_rng(m)
    for n in range(1, 9):
        for right in range(n + 1):
            outcomes = rng.permutation([1] * right + [0] * (n - right))
            scores = rng.integers(0, 5, n) / 4
            assert kept(outcomes, scores, m=m) == plain(outcomes.tolist(), scores.tolist(), m)


def test_the_least_consistent_of_each_side_go():
    outcomes, scores = [1, 1, 1, 1, 0, 0, 0, 0], [0.9, 0.1, 0.8, 0.2, 0.9, 0.1, 0.8, 0.2]
    assert kept(outcomes, scores) == [0, 2, 5, 7]
    assert kept(outcomes, 2 * np.array(scores) - 1, signed=True) == [0, 2, 5, 7]


def test_wrong_rollouts_go_at_random_with_the_right_side_only():
    outcomes, scores = [1, 1, 1, 1, 0, 0, 0, 0], [0.9, 0.1, 0.8, 0.2, 0.9, 0.1, 0.8, 0.2]
    found = {tuple(kept(outcomes, scores, seed=seed, sides="right")) for seed in range(60)}
    assert {rows[:2] for rows in found} == {(0, 2)} and len({rows[2:] for rows in found}) == 6


def test_rows_without_a_score_go_first():
    assert kept([1, 1, 1, 1, 0, 0, 0, 0], [np.nan, 0, 0, 0, np.nan, 1, 1, np.nan]) == [1, 2, 5, 6]


@pytest.mark.parametrize("seed", range(10))
def test_ragged_groups_in_any_order(seed):
    rng = np.random.default_rng(seed)
    groups, outcomes, scores = rng.integers(-3, 4, 50), rng.integers(0, 2, 50), rng.random(50)
    wanted = []
    for label in np.unique(groups):
        rows = np.flatnonzero(groups == label)
        wanted += rows[plain(outcomes[rows].tolist(), scores[rows].tolist(), 4)].tolist()
    assert kept(outcomes, scores, groups) == sorted(wanted)


def test_settings_columns_and_worlds():
    for wrong in ({"m": 0}, {"sides": "wrong"}):
        with pytest.raises(ConfigError):
            Prof(**wrong)
    recipe = winnow.recipe("prof")
    assert recipe.needs == ("scores",)
    check_worlds(recipe)
    check_worlds(winnow.recipe("prof", n=8, m=0.5, sides="right"))
    assert kept([], []) == []


def test_a_reward_that_judges_no_steps_is_named():
    with pytest.raises(ConfigError, match="none of the 2 rollouts has one"):
        kept([1, 0], [np.nan, np.nan])
