import numpy as np
import pytest
from tests.curriculum.pools import declared, feedback, play, rates, replayed

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.mopps import Mopps
from winnow.errors import ConfigError


def test_m1_posterior_with_forgetting():
    rule = Mopps(retain=0.9)
    rule.observe(feedback([0], [2], 8))
    rule.observe(feedback([0], [6], 8))
    a, b = rule.posterior(np.array([0]))
    assert (a[0], b[0]) == pytest.approx((8.8, 8.4))


def test_posterior_against_the_formula_on_ragged_steps():
    rng = np.random.default_rng(0)
    rule, wanted = Mopps(retain=0.7, pseudo=2.0), np.full((2, 6), 2.0)
    for _ in range(30):
        ids = rng.permutation(6)[:4]
        valid = rng.integers(0, 5, 4)
        wins = rng.binomial(valid, 0.4)
        rule.observe(feedback(ids, wins, valid))
        for prompt, won, count in zip(ids, wins, valid, strict=True):
            if count:
                wanted[0, prompt] = 0.7 * wanted[0, prompt] + 0.3 * 2 + won
                wanted[1, prompt] = 0.7 * wanted[1, prompt] + 0.3 * 2 + count - won
    assert np.array(rule.posterior(np.arange(6))) == pytest.approx(wanted)


def test_a_single_rollout_counts_as_one():
    rule = Mopps()
    rule.observe(feedback([0, 1], [1, 0], 1))
    assert np.array(rule.posterior(np.array([0, 1]))).tolist() == [[2, 1], [1, 2]]


def test_unscorable_rollouts_leave_the_posterior():
    rule = Mopps(retain=0.5)
    rule.observe(feedback([0], [4], 8))
    before = rule.state_dict()
    rule.observe(feedback([0], [0], 0))
    assert rule.state_dict() == before


def test_known_prompts_are_taken_nearest_to_the_target():
    rule = Mopps(target=0.25)
    rule.observe(feedback(range(6), [0, 20_000, 5_000, 10_000, 4_000, 15_000], 20_000))
    chosen = rule.choose(Candidates.of(range(6)), 2, np.random.default_rng(0))
    assert chosen.opened.tolist() == [2, 4] and chosen.visited == 6


def test_a_band_takes_all_rates_within_it_alike_then_the_nearest():
    rule = Mopps(band=0.2)
    rule.observe(feedback(range(6), [0, 4_500, 5_000, 6_000, 7_500, 10_000], 10_000))
    pool, rng = Candidates.of(range(6)), np.random.default_rng(0)
    pairs = {tuple(rule.choose(pool, 2, rng).opened.tolist()) for _ in range(60)}
    assert pairs == {(1, 2), (1, 3), (2, 3)}
    assert rule.choose(pool, 4, rng).opened.tolist() == [1, 2, 3, 4]


def test_unseen_prompts_are_chosen_at_random():
    rule, rng = Mopps(), np.random.default_rng(0)
    hits = sum(np.bincount(rule.choose(Candidates.of(range(8)), 2, rng).opened, minlength=8) for _ in range(400))
    assert hits.min() > 60 and hits.max() < 140  # 100 expected, standard deviation 9


def test_each_candidate_draws_from_its_posterior():
    # Prompt 0 at Beta(1, 9) against prompt 1 at Beta(1, 1): the chance to be nearer to 1/2, on a grid.
    rule, rng = Mopps(), np.random.default_rng(0)
    rule.observe(feedback([0], [0], 8))
    grid = (np.arange(20_000) + 0.5) / 20_000
    nearer = np.mean(9 * (1 - grid) ** 8 * (1 - 2 * np.abs(grid - 0.5)))
    hits = sum(int(rule.choose(Candidates.of([0, 1]), 1, rng).opened[0] == 0) for _ in range(4000))
    assert 0.15 < nearer < 0.25
    assert hits / 4000 == pytest.approx(nearer, abs=0.03)


def test_more_groups_with_signal_than_uniform_at_equal_rollouts_and_every_prompt_is_tried():
    for seed in range(3):
        chances = rates(160, seed)
        plain, chosen = play("grpo", chances, seed=seed), play(declared("mopps"), chances, seed=seed)
        assert plain.rollouts == chosen.rollouts
        assert chosen.signal > plain.signal + 0.1
        assert np.count_nonzero(chosen.visits) >= 150


def test_forgetting_finds_prompts_that_have_become_solvable():
    means = []
    for keep in (0.5, 1.0):
        rule = Mopps(retain=keep)
        for wins in [0] * 100 + [4] * 3:
            rule.observe(feedback([0], [wins], 8))
        a, b = rule.posterior(np.array([0]))
        means.append(float(a[0] / (a[0] + b[0])))
    # a = 1 + 4 + 2 + 1, b = a + 16 / 8; without forgetting a = 13, b = 813.
    assert means == pytest.approx([8 / 18, 13 / 826])


def test_every_candidate_keeps_a_chance_bounded_below_when_evidence_fades():
    rule = Mopps(retain=0.5)
    for _ in range(200):
        rule.observe(feedback([0], [0], 8))
    a, b = rule.posterior(np.array([0]))
    assert (a[0], b[0]) == pytest.approx((1, 17))


def test_a_resumed_run_repeats_the_same_choices():
    assert replayed(declared("mopps", retain=0.9), declared("mopps", retain=0.9), rates(64, 0))


@pytest.mark.parametrize("bad", [{"target": 1.1}, {"retain": -0.1}, {"pseudo": 0}, {"band": 2}, {"oversample": 0}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=f"Mopps\\({next(iter(bad))}="):
        Mopps(**bad)


def test_recipe_on_the_reference_worlds():
    for world in winnow.testing.worlds():
        played = winnow.testing.reference(declared("mopps"), world, seed=1)
        assert len({prompt for prompt, _ in played.drawn}) == 3
