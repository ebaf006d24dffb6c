import numpy as np
import pytest
from tests.allocation.played import gradients, histories, history_chance, play

import winnow
from winnow.advantage import Advantage
from winnow.allocation.pilot_commit import PilotCommit
from winnow.curriculum.evict import Evict
from winnow.errors import ConfigError
from winnow.gating.continued import Continued
from winnow.selection.pilots import Pilots


def pilot(successes, n=16, length=64):
    return [1] * successes + [0] * (n - successes) + [1, 0] * ((length - n) // 2)


@pytest.mark.parametrize(
    ("successes", "commits"), [(0, False), (1, False), (2, True), (8, True), (12, True), (13, False), (16, False)]
)
def test_gate_of_18_8(successes, commits):
    rule = winnow.recipe("pilot-commit", initial=16, further=48, pool=1)
    played = play(rule, [pilot(successes)])
    assert played.counts == [64 if commits else 16]
    assert played.batch.kept_rows == (64 if commits else 0)


def test_edges_pass_whatever_the_rounding():
    # 1 of 10, told right first: the running mean is 1 - 9/10 = 0.09999999999999998.
    rule = winnow.Recipe("x", allocation=PilotCommit(initial=10, further=2, pool=1, low=0.1))
    assert play(rule, [[1] + [0] * 11]).counts == [12]


def test_first_or_most_varied():
    # Six at hand, two wanted; success rates of the pilots 2/8, 0, 4/8, 3/8, 4/8, 1.
    streams = [pilot(k, 8, 32) for k in (2, 0, 4, 3, 4, 8)]
    assert play(winnow.recipe("pilot-commit"), streams).waves[1] == [(0, 24), (2, 24)]
    assert play(winnow.recipe("pilot-commit", choose="variance"), streams).waves[1] == [(2, 24), (4, 24)]
    streams[4] = pilot(5, 8, 32)  # 3/8 and 5/8 vary alike: the first offered
    assert play(winnow.recipe("pilot-commit", choose="variance"), streams).waves[1] == [(2, 24), (3, 24)]


def test_solved_prompts_leave_and_others_come_again():
    recipe = winnow.recipe("pilot-commit", pool=1)
    streams = [pilot(k, 8, 32) for k in (8, 0, 4)]
    assert play(recipe, streams).counts == [8, 8, 32]
    assert play(recipe, streams).counts == [0, 8, 32]  # deferred, not evicted


@pytest.mark.parametrize(("p", "everything", "training"), [(0.5, 0.241, 0.250), (0.1, 0.060, 0.106)])
def test_documented_bias(p, everything, training):
    streams, counts = histories(8, 24)
    rule = winnow.Recipe("x", allocation=PilotCommit(pool=1), gate=Continued(8), advantage=Advantage("rloo"))
    played = play(rule, streams)
    weight = history_chance(counts, (8, 24), p)
    trains = weight[np.array(played.counts) == 32].sum()
    assert weight @ gradients(played, p) == pytest.approx(everything, abs=6e-4)
    assert weight @ gradients(played, p) / trains == pytest.approx(training, abs=6e-4)


def test_pilots_of_largest_variance_train_beside_all_commits():
    rule = winnow.recipe("pilot-commit", pool=1, selection=Pilots(), initial=8)
    assert rule.selection == Pilots(8, 4)
    played = play(rule, [pilot(1, 8, 32)])
    places, _ = played.kept(0)
    outcomes = np.array(pilot(1, 8, 32))[places]
    assert len(places) == 4 + 24
    assert outcomes[:4].tolist() == [1, 0, 0, 0]
    assert places[4:] == list(range(8, 32))


@pytest.mark.parametrize("seed", range(10))
def test_pilots_against_brute_force_on_ragged_shuffled_groups(seed):
    from itertools import combinations

    rng = np.random.default_rng(seed)
    groups, rewards = rng.integers(0, 4, 40) * 7 - 3, rng.integers(0, 4, 40) / 2
    chosen = Pilots(6, 3)(rewards, groups, rng).rows
    for label in np.unique(groups):
        rows = np.flatnonzero(groups == label)
        mine = chosen[groups[chosen] == label]
        best = max(np.var(rewards[list(few)]) for few in combinations(rows[:6], min(3, len(rows[:6]))))
        assert set(rows[6:]) <= set(mine)
        assert np.var(rewards[np.intersect1d(mine, rows[:6])]) == pytest.approx(best)
        assert len(mine) == len(rows[6:]) + min(3, len(rows[:6]))


def test_settings_out_of_range():
    for wrong in ({"initial": 1}, {"low": 0.8}, {"choose": "best"}, {"pool": 0}, {"low": float("nan")}):
        with pytest.raises(ConfigError):
            PilotCommit(**wrong)
    for wrong in ({"initial": 0}, {"effective": 9}, {"effective": 0}, {"initial": 2.0}):
        with pytest.raises(ConfigError, match="Pilots"):
            Pilots(**wrong)
    with pytest.raises(ConfigError, match="initial=8"):
        PilotCommit().with_n(8)
    assert PilotCommit().with_n(16) == PilotCommit(further=8)


def test_the_recipe_goes_through_a_checkpoint():
    recipe, again = winnow.recipe("pilot-commit", pool=1), winnow.recipe("pilot-commit", pool=1)
    play(recipe, [pilot(8, 8, 32), pilot(3, 8, 32)])
    again.load_state_dict(recipe.state_dict())
    assert isinstance(again.curriculum, Evict)
    assert again.curriculum.evicted(np.arange(3)).tolist() == [True, False, False]


@pytest.mark.parametrize("world", winnow.testing.worlds(), ids=lambda world: world.name)
def test_worlds(world):
    assert winnow.testing.reference(winnow.recipe("pilot-commit"), world, 3).drawn
