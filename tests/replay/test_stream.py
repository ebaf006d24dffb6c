import numpy as np
import pytest

import winnow
from tests.replay.logs import coins
from winnow.replay.stream import Shape, Stream, as_logged, resampled


def windows(stream, visited=None):
    found = []
    while (window := stream.next()) is not None:
        found.append((window.start, window.stop))
        stream.visited(window, visited or window.stop - window.start)
    return found


def test_steps_come_in_order_and_whole():
    log = coins([0.5] * 5, 2, steps=3)
    visits = as_logged(log, np.random.default_rng(0))
    assert log.step[visits.visit].tolist() == [1] * 5 + [2] * 5 + [3] * 5
    assert sorted(visits.visit) == list(range(15))
    assert windows(Stream(visits, winnow.recipe("grpo"), None, 5)) == [(0, 5), (5, 10), (10, 15)]


def test_a_pilot_is_cut_into_steps_the_last_of_which_counts_in_part():
    visits = as_logged(coins([0.5] * 10, 2), np.random.default_rng(0))
    stream = Stream(visits, winnow.recipe("grpo"), 4, 10)
    assert windows(stream) == [(0, 4), (4, 8), (8, 10)]
    assert [stream.share(size) for size in (4, 2)] == [1.0, 0.5]


def test_spares_come_from_the_steps_that_follow_and_what_was_not_seen_comes_again():
    visits = as_logged(coins([0.5] * 20, 2), np.random.default_rng(0))
    recipe = winnow.recipe("dapo")
    assert windows(Stream(visits, recipe, 2, 20), visited=3) == [(at, at + 6) for at in range(0, 15, 3)]


def test_a_prompt_never_stands_twice_in_a_step():
    visits = as_logged(coins([0.5] * 5, 2, steps=3), np.random.default_rng(0))
    for begin, end in windows(Stream(visits, winnow.recipe("dapo"), 3, 5)):
        assert len(set(visits.name[begin:end].tolist())) == end - begin


def test_a_resample_takes_prompts_with_all_their_visits():
    log = coins([0.5] * 40, 2, steps=3)
    found = resampled(log, np.random.default_rng(0), 1.0)
    prompts = log.prompt[found.visit]
    times = [np.bincount(prompts[log.step[found.visit] == step], minlength=40) for step in (1, 2, 3)]
    np.testing.assert_array_equal(times[0], times[1])
    assert times[0].sum() == pytest.approx(40) and times[0].max() > 1
    assert found.ends.tolist() == [40, 80, 120]
    for begin, end in zip([0, 40, 80], found.ends, strict=True):
        assert len(set(found.name[begin:end].tolist())) == 40
        np.testing.assert_array_equal(found.name[begin:end] % 40, prompts[begin:end])


def test_a_share_takes_steps_of_a_run_and_prompts_of_a_pilot():
    run = resampled(coins([0.5] * 10, 2, steps=20), np.random.default_rng(0), 0.25)
    assert len(run.ends) == 5 and len(run) == 50
    pilot = resampled(coins([0.5] * 100, 2), np.random.default_rng(0), 0.3)
    assert len(pilot) == 30 and len(set(pilot.name.tolist())) == 30


def test_a_part_of_a_log_holds_no_visit_twice():
    run = as_logged(coins([0.5] * 10, 2, steps=20), np.random.default_rng(0), 0.25)
    assert len(run.ends) == 5 and sorted(set(run.visit.tolist())) == sorted(run.visit.tolist())
    assert np.diff(run.ends, prepend=0).tolist() == [10] * 5
    pilot = as_logged(coins([0.5] * 100, 2), np.random.default_rng(0), 0.3)
    assert len(set(pilot.visit.tolist())) == 30 and pilot.ends.tolist() == [30]


def test_budgets_shrink_with_a_step():
    assert Shape(8, rollouts=64).budget(4, 8).rollouts == 32
    tokens = Shape(8, tokens=800, longest=100).budget(1, 8)
    assert (tokens.tokens, tokens.longest) == (100, 100)
    assert Shape(8).budget(4, 8) is None
