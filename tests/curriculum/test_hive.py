from dataclasses import dataclass

import numpy as np
import pytest
from tests.curriculum.pools import declared, feedback, play, rates, replayed

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.hive import Hive
from winnow.errors import ConfigError
from winnow.feedback import Feedback


@dataclass(frozen=True)
class WithEntropy(Feedback):
    entropy: np.ndarray = None


@dataclass(frozen=True)
class PromptsWithEntropy(Candidates):
    entropy: np.ndarray = None


def remembering(successes, entropy=None, **settings):
    """A rule that saw prompts 0, 1, ... once, each with 8 rollouts."""
    rule, ids = Hive(**settings), range(len(successes))
    if entropy is None:
        rule.observe(feedback(ids, successes, 8))
    else:
        rule.observe(feedback(ids, successes, 8, kind=WithEntropy, entropy=np.asarray(entropy, float)))
    return rule


def test_chance_from_rewards_alone():
    rule = remembering([0, 2, 4, 8])
    assert rule.chance(np.arange(5)) == pytest.approx([0.05, 0.75, 1, 0.05, 1])


def test_chance_with_entropies_by_rank():
    rule = remembering([4, 4, 4, 2, 4], [0.3, 0.1, 0.2, 0.3, np.nan])
    # Ranks of .3 .1 .2 .3 from low to high: 2.5 0 1 2.5 of 3; the last one is not known.
    wanted = [0.5 + 0.5 * 2.5 / 3, 0.5, 0.5 + 0.5 / 3, 0.75 * (0.5 + 0.5 * 2.5 / 3), 1.0]
    assert rule.chance(np.arange(5)) == pytest.approx(wanted)
    order = np.array([3, 0, 4, 2, 1])
    assert rule.chance(order) == pytest.approx(np.array(wanted)[order])


def test_averages_keep_a_share_and_unscorable_rollouts_none():
    rule = remembering([4], retain=0.75)
    rule.observe(feedback([0], [8], 8))
    rule.observe(feedback([0], [0], 0))
    rate = 0.75 * 0.5 + 0.25
    assert rule.chance(np.array([0]))[0] == pytest.approx(4 * rate * (1 - rate))


def test_shortlist_is_drawn_with_its_chances():
    rule, rng = remembering([0, 2, 4, 8], floor=0.1), np.random.default_rng(0)
    hits = np.zeros(4)
    for _ in range(2000):
        opened = rule.choose(Candidates.of(range(4)), 4, rng).opened
        hits[opened] += 1
    # When none passes, which has a chance of 0 here (prompt 2 always does), the first would be opened.
    assert hits / 2000 == pytest.approx([0.1, 0.75, 1, 0.1], abs=0.04)


def test_upper_half_of_the_shortlist_in_the_order_offered():
    rule = remembering([4] * 6, [0.9, 0.1, 0.8, 0.2, 0.7, 0.3], floor=1.0)
    pool, rng = Candidates.of(range(6)), np.random.default_rng(0)
    choice = rule.choose(pool, 2, rng)
    assert choice.opened.tolist() == [0, 2] and choice.visited == 6
    assert rule.choose(pool, 3, rng).opened.tolist() == [0, 2, 4]
    # Short of prompts, the rest follows by entropy: .3, then .2.
    assert rule.choose(pool, 4, rng).opened.tolist() == [0, 2, 4, 5]
    assert rule.choose(pool, 5, rng).opened.tolist() == [0, 2, 3, 4, 5]


def test_unseen_prompts_pass_the_median():
    rule = remembering([4] * 4, [0.4, 0.3, 0.2, 0.1], floor=1.0)
    assert rule.choose(Candidates.of([2, 3, 7, 0, 8]), 3, np.random.default_rng(0)).opened.tolist() == [0, 2, 3]


def test_entropy_of_the_prompts_themselves_goes_before_what_is_remembered():
    rule = remembering([4] * 4, [0.4, 0.3, 0.2, 0.1], floor=1.0)
    pool = PromptsWithEntropy(np.arange(4), None, np.array([1.0, 2.0, 3.0, 4.0]))
    assert rule.choose(pool, 2, np.random.default_rng(0)).opened.tolist() == [2, 3]


def test_a_step_is_never_empty():
    rule = remembering([0] * 3, floor=1e-9)
    assert rule.choose(Candidates.of(range(3)), 2, np.random.default_rng(0)).opened.tolist() == [0]


def test_more_groups_with_signal_than_uniform_and_none_starves():
    for seed in range(3):
        chances = rates(160, seed)
        plain, chosen = play("grpo", chances, seed=seed), play(declared("hive"), chances, seed=seed)
        assert chosen.rollouts <= plain.rollouts
        assert chosen.signal > plain.signal + 0.08
        assert chosen.visits.min() >= 1


def test_hopeless_prompts_are_visited_at_the_floor():
    chances = np.repeat([0.0, 0.5], 40)
    run = play(declared("hive", floor=0.2), chances, steps=400)
    assert run.visits[:40].min() >= 2
    assert run.visits[:40].mean() < 0.4 * run.visits[40:].mean()


def test_a_resumed_run_repeats_the_same_choices():
    assert replayed(declared("hive"), declared("hive"), rates(64, 0))
    rule, again = remembering([4, 1], [0.2, np.nan]), Hive()
    again.load_state_dict(rule.state_dict())
    assert np.array_equal(rule.chance(np.arange(3)), again.chance(np.arange(3)))


@pytest.mark.parametrize("bad", [{"floor": 0}, {"retain": 1.0}, {"oversample": True}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=f"Hive\\({next(iter(bad))}="):
        Hive(**bad)


def test_recipe_on_the_reference_worlds():
    for world in winnow.testing.worlds():
        played = winnow.testing.reference(declared("hive"), world, seed=1)
        assert sorted({prompt for prompt, _ in played.drawn}) == [0, 1, 2]
