import numpy as np
import pytest

import winnow
from winnow.errors import ConfigError
from winnow.gating.band import Band
from winnow.gating.continued import Continued
from winnow.observed import Observed


def observed(streams):
    seen = Observed(len(streams))
    for prompt, outcomes in enumerate(streams):
        seen.add(np.full(len(outcomes), prompt), np.array(outcomes, float))
    return seen


def of_16(successes):
    return [0] * (16 - successes) + [1] * successes


def test_both_edges_are_inside():
    seen = observed([of_16(k) for k in (0, 1, 2, 8, 12, 13, 16)])
    assert Band()(seen).tolist() == [False, False, True, True, True, False, False]


def test_a_mean_off_by_rounding_is_on_the_edge():
    seen = observed([[1] + [0] * 9, [0] * 9 + [1]])
    assert Band(low=0.1, high=0.9)(seen).tolist() == [True, True]


def test_unscorable_rollouts_do_not_count_and_empty_groups_stay_out():
    nan = np.nan
    assert Band()(observed([[nan, nan], [1, 0, nan, nan], [], [nan, 1]])).tolist() == [False, True, False, False]


def test_continued_counts_every_rollout():
    nan = np.nan
    assert Continued(2)(observed([[0, 1], [0, 1, nan], [], [nan] * 3])).tolist() == [False, True, False, True]


def test_in_a_recipe():
    step = winnow.recipe("difficulty-band", high=0.5).begin(3)
    step.ask()
    step.tell(np.repeat([0, 1, 2], 8), [0] * 8 + [1, 0] * 4 + [1] * 6 + [0] * 2)
    batch = step.finish()
    assert set(batch.prompts.tolist()) == {1}
    assert batch.ledger.gated == 16
    assert winnow.recipe("grpo", gate="band").admit(observed([[0, 1]])).tolist() == [True]


def test_settings_out_of_range():
    for wrong in ({"low": 0.8}, {"low": float("nan")}, {"high": 0.1}):
        with pytest.raises(ConfigError, match="Band"):
            Band(**wrong)
    for wrong in (0, 1.5, True):
        with pytest.raises(ConfigError, match="Continued"):
            Continued(wrong)
