"""Prioritised: its weights, draws without replacement, prompts without a record."""

import numpy as np
import pytest
from tests.curriculum.pools import feedback

from winnow.candidates import Candidates
from winnow.curriculum import prioritised
from winnow.errors import ConfigError


def taught(successes, trials, **settings):
    rule = prioritised.Prioritised(**settings)
    rule.observe(feedback(range(len(successes)), successes, trials))
    return rule


def shares(rule, prompts, wanted=1, steps=4000):
    rng, candidates = np.random.default_rng(0), Candidates.of(range(prompts))
    opened = [rule.choose(candidates, wanted, rng).opened for _ in range(steps)]
    return np.bincount(np.concatenate(opened), minlength=prompts) / steps


def test_single_draws_follow_one_minus_the_success_rate():
    rule = taught([0, 2, 6, 8], 8, floor=0.05)
    weights = np.array([1, 0.75, 0.25, 0.05])
    assert shares(rule, 4) == pytest.approx(weights / weights.sum(), abs=0.02)


def test_two_draws_are_without_replacement():
    # One after the other: w = (2, 1, 1) / 4, the first is among two with 1/2 + 2 * 1/4 * 2/3.
    rule = taught([0, 4, 4], 8)
    assert shares(rule, 3, wanted=2) == pytest.approx([5 / 6, 7 / 12, 7 / 12], abs=0.02)


def test_prompts_never_seen_or_never_scored_count_as_failing():
    rule = taught([0, 0], [8, 0])
    assert shares(rule, 3) == pytest.approx([1 / 3] * 3, abs=0.03)


def test_wrong_settings():
    with pytest.raises(ConfigError, match="floor=0"):
        prioritised.Prioritised(floor=0)
