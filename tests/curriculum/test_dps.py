import numpy as np
import pytest
from tests.curriculum.pools import declared, feedback, play, rates, replayed

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.dps import Dps
from winnow.errors import ConfigError


def plain(history, keep, prior):
    """One prompt, by the definition: history holds a state, or None where it was not visited."""
    counts, belief = [[prior] * 3 for _ in range(3)], [1 / 3] * 3

    def moves():
        return [[counts[i][j] / sum(counts[k][j] for k in range(3)) for j in range(3)] for i in range(3)]

    def ahead(matrix, vector):
        return [sum(matrix[i][j] * vector[j] for j in range(3)) for i in range(3)]

    for state in history:
        matrix = moves()
        reached = ahead(matrix, belief) if state is None else [float(i == state) for i in range(3)]
        gain = [[reached[i] * belief[j] * matrix[i][j] for j in range(3)] for i in range(3)]
        total = sum(map(sum, gain)) if state is not None else float("inf")
        for i in range(3):
            for j in range(3):
                counts[i][j] = keep * counts[i][j] + (1 - keep) * prior + gain[i][j] / total
        belief = reached
    return ahead(moves(), belief)


def tell(rule, states):
    """Tell of a step: {prompt: 0 all wrong, 1 mixed, 2 all right}."""
    ids = list(states)
    rule.observe(feedback(ids, [4 * states[prompt] for prompt in ids], 8))


def test_worked_example():
    # One mixed visit adds 1/3 to each move into "partly": columns (1, 4/3, 1), forecast 0.4. A step without a visit
    # leaves 0.7 of that: 1.2333 / 3.2333.
    rule, ids = Dps(), np.array([0, 1])
    tell(rule, {0: 1})
    assert rule.forecast(ids) == pytest.approx(np.array([[0.3, 0.4, 0.3], [1 / 3, 1 / 3, 1 / 3]]))
    tell(rule, {1: 2})
    assert rule.forecast(ids)[:, 1] == pytest.approx([1.2333333 / 3.2333333, 0.3])


@pytest.mark.parametrize(("keep", "prior"), [(0.7, 1.0), (0.5, 0.3), (1.0, 2.0), (0.0, 1.0)])
def test_against_the_definition_prompt_by_prompt(keep, prior):
    rng = np.random.default_rng(3)
    rule, histories = Dps(retain=keep, pseudo=prior), {}
    for _ in range(25):
        states = {int(prompt): int(rng.integers(3)) for prompt in rng.permutation(10)[:4]}
        for prompt in states:
            histories.setdefault(prompt, [])
        for prompt, history in histories.items():
            history.append(states.get(prompt))
        tell(rule, states)
    ids = rng.permutation(list(histories))
    wanted = np.array([plain(histories[prompt], keep, prior) for prompt in ids.tolist()])
    assert rule.forecast(ids) == pytest.approx(wanted, abs=1e-12)
    assert rule.forecast(ids).sum(1) == pytest.approx(1)


def test_state_is_judged_by_signal_and_unscorable_prompts_count_as_not_visited():
    rule, other = Dps(), Dps()
    rule.observe(feedback([0, 1, 2], [8, 0, 3], 8))
    assert rule.forecast(np.arange(3)).argmax(1).tolist() == [2, 0, 1]
    for one in (rule, other):
        one.load_state_dict(rule.state_dict())
    rule.observe(feedback([0, 3], [0, 2], [0, 8]))
    other.observe(feedback([3], [2], 8))
    assert np.array_equal(rule.forecast(np.arange(4)), other.forecast(np.arange(4)))


def test_forecasts_of_long_unvisited_prompts_return_to_even():
    rule = Dps()
    for _ in range(10):
        tell(rule, {0: 2})
    assert rule.forecast(np.array([0]))[0, 1] < 0.2
    for _ in range(40):
        tell(rule, {1: 1})
    assert rule.forecast(np.array([0]))[0] == pytest.approx([1 / 3] * 3, abs=1e-4)


def test_largest_forecasts_first_then_unseen_prompts():
    rule = Dps()
    tell(rule, {0: 0, 1: 1, 2: 2, 3: 1})
    pool, rng = Candidates.of([5, 0, 3, 2, 1, 4]), np.random.default_rng(0)
    assert rule.choose(pool, 2, rng).opened.tolist() == [2, 4]
    picks = {tuple(rule.choose(pool, 3, rng).opened.tolist()) for _ in range(30)}
    assert picks == {(0, 2, 4), (2, 4, 5)}


def test_curiosity_prefers_the_less_certain():
    rule = Dps(curiosity=10.0)
    for _ in range(5):
        tell(rule, {0: 1, 1: 0})
    assert rule.choose(Candidates.of([0, 1, 2]), 1, np.random.default_rng(0)).opened.tolist() == [2]


def test_more_groups_with_signal_than_uniform_at_equal_rollouts():
    for seed in range(3):
        chances = rates(160, seed)
        plain_run, chosen = play("grpo", chances, seed=seed), play(declared("dps"), chances, seed=seed)
        assert plain_run.rollouts == chosen.rollouts
        assert chosen.signal > plain_run.signal + 0.12


def test_dull_prompts_are_tried_again():
    chances = np.array([0.0] * 24 + [1.0] * 24)
    assert play(declared("dps"), chances, steps=40).visits.min() >= 2


def test_a_resumed_run_repeats_the_same_choices():
    assert replayed(declared("dps"), declared("dps"), rates(64, 0))


@pytest.mark.parametrize("bad", [{"retain": 1.5}, {"pseudo": 0}, {"curiosity": -1}, {"oversample": 1.5}])
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=f"Dps\\({next(iter(bad))}="):
        Dps(**bad)


def test_recipe_on_the_reference_worlds():
    for world in winnow.testing.worlds():
        played = winnow.testing.reference(declared("dps"), world, seed=1)
        assert len({prompt for prompt, _ in played.drawn}) == 3
