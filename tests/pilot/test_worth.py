import math

import numpy as np
import pytest

from tests.pilot.tallies import drawn, tally
from winnow.pilot import Prior, fit_prior, worth

PRIOR = Prior(np.array([1.0]), np.array([1.0]), np.array([1.0]))


def test_the_chance_is_the_posterior_one():
    found = worth([tally("a", 0.0, 0.0, 0.0, 0.0)], 8, PRIOR)
    # Under a flat prior four failures leave Beta(1, 5): E[p^8 + (1-p)^8] by the Beta integral.
    ties = 5 * math.gamma(9) * math.gamma(5) / math.gamma(14) + 5 / 13
    assert found.chances[0] == pytest.approx(1 - ties)


def test_a_failed_prompt_is_worth_more_in_a_larger_group():
    failed = tally("a", *[0.0] * 8)
    chances = [worth([failed], n, PRIOR).chances[0] for n in (2, 8, 32, 128)]
    assert chances == sorted(chances) and chances[0] > 0


def test_mixed_prompts_are_kept_and_solved_ones_dropped():
    tallies = drawn(np.random.default_rng(1).beta(0.3, 0.5, 200), 8)
    found = worth(tallies, 8, fit_prior(tallies))
    for seen, kept in zip(tallies, found.kept, strict=True):
        assert kept == (0 < seen.passed < 8)


def test_nothing_scored_is_nothing_known():
    found = worth([tally("a", None, None), tally("b", 1.0, 0.0)], 4, PRIOR)
    assert math.isnan(found.chances[0]) and found.kept == [False, True]


def test_graded_prompts_are_judged_by_what_was_drawn():
    found = worth([tally("a", 0.1, 0.2, 0.2), tally("b", 0.3, 0.3, 0.3)], 2, None)
    assert found.chances == [pytest.approx(2 / 3), 0.0] and "subsets" in found.rule
