import numpy as np
import pytest
from tests.curriculum.pools import declared, feedback, play, rates, replayed

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.srpo import Srpo
from winnow.errors import ConfigError


def test_all_correct_leaves_mixed_and_all_wrong_stay():
    rule = Srpo()
    rule.observe(feedback(range(3), [8, 5, 0], 8))
    assert rule.passing(np.arange(4)).tolist() == [0, 1, 1, 1]


def test_two_correct_rollouts_are_likely_below_the_level():
    # P(all correct | p = 0.9, n = 2) = 0.81: the paper's rule drops four of five such prompts after one visit.
    rng, dropped = np.random.default_rng(0), 0
    for _ in range(4000):
        rule = Srpo()
        rule.observe(feedback([0], [rng.binomial(2, 0.9)], 2))
        dropped += rule.passing(np.array([0]))[0] == 0
    assert dropped / 4000 == pytest.approx(0.81, abs=0.03)


@pytest.mark.parametrize(("confidence", "level", "rollouts"), [(0.9, 0.9, 21), (0.19, 0.9, 1), (0.5, 0.5, 1)])
def test_posterior_bound_counts_the_rollouts_it_takes(confidence, level, rollouts):
    # Uniform prior, r of r correct: P(p > level) = 1 - level^(r + 1), by integrating Beta(r + 1, 1).
    rule = Srpo(certainty=confidence, solved=level)
    for correct in range(1, rollouts + 1):
        assert rule.passing(np.array([0]))[0] == 1.0
        rule.observe(feedback([0], [1], 1))
        grid = (np.arange(200_000) + 0.5) / 200_000
        mass = ((correct + 1) * grid**correct)[grid > level].sum() / 200_000
        assert mass == pytest.approx(1 - level ** (correct + 1), abs=1e-4)
    assert rule.passing(np.array([0]))[0] == 0.0


def test_a_wrong_rollout_ends_the_run_and_unscorable_ones_leave_it():
    rule = Srpo(certainty=0.5, solved=0.8)
    rule.observe(feedback([0, 1], [2, 2], 2))
    rule.observe(feedback([0, 1], [1, 0], [2, 0]))
    assert rule.passing(np.arange(2)).tolist() == [1, 1]
    rule.observe(feedback([0, 1], [1, 1], 1))  # runs of 1 and 3: 1 - 0.8^2 = 0.36, 1 - 0.8^4 = 0.59
    assert rule.passing(np.arange(2)).tolist() == [1, 0]


def test_verdicts_take_effect_in_the_next_epoch_and_for_good():
    chances = np.array([1.0] * 8 + [0.0] * 8 + [0.5] * 8)
    run = play(declared("srpo"), chances, steps=24, prompts=4)
    assert (run.visits[:8] == 1).all()
    # 24 steps of 4: an epoch of 24 prompts, then epochs of the 16 that are left, give or take a step at the end.
    assert run.visits[8:].min() >= 4 and run.visits[8:].max() <= 6


def test_candidates_are_passed_over_one_by_one():
    rule = Srpo()
    rule.observe(feedback([0, 2], [8, 8], 8))
    choice = rule.choose(Candidates.of(range(8)), 3, np.random.default_rng(0))
    assert choice.opened.tolist() == [1, 3, 4] and choice.visited == 5


def test_a_step_is_never_empty():
    rule = Srpo()
    rule.observe(feedback(range(4), [8] * 4, 8))
    assert rule.choose(Candidates.of(range(4)), 2, np.random.default_rng(0)).opened.tolist() == [0]


def test_readmission_gives_dropped_prompts_their_chance():
    rule, rng = Srpo(readmit=0.2), np.random.default_rng(0)
    rule.observe(feedback(range(1000), [8] * 1000, 8))
    passed = len(rule.choose(Candidates.of(range(1000)), 1000, rng).opened)
    assert 140 < passed < 260
    # Solved prompts that are forgotten come back into the data once readmitted.
    chances = np.ones(32)
    run = play(declared("srpo", readmit=0.3), chances, steps=200, prompts=4)
    assert run.visits.min() >= 2


def test_more_groups_with_signal_than_uniform_at_equal_rollouts():
    for seed in range(3):
        chances = rates(160, seed)
        plain, chosen = play("grpo", chances, seed=seed), play(declared("srpo"), chances, seed=seed)
        assert plain.rollouts == chosen.rollouts
        assert chosen.signal > plain.signal + 0.02
        # What was ever mixed or wrong at its last visit stays in the data.
        assert (chosen.visits[chances < 0.5] >= 2).all()


def test_a_resumed_run_repeats_the_same_choices():
    assert replayed(declared("srpo", readmit=0.3), declared("srpo", readmit=0.3), rates(64, 0))


@pytest.mark.parametrize("bad", [{"certainty": 1.0}, {"solved": 1.0}, {"readmit": -0.1}, {"oversample": 0}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=f"Srpo\\({next(iter(bad))}="):
        Srpo(**bad)


def test_recipe_on_the_reference_worlds():
    for world in winnow.testing.worlds():
        played = winnow.testing.reference(declared("srpo"), world, seed=1)
        assert sorted({prompt for prompt, _ in played.drawn}) == [0, 1, 2]
