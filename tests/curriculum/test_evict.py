import numpy as np
import pytest

import winnow
from winnow.candidates import Candidates
from winnow.curriculum.evict import Evict
from winnow.errors import ConfigError


def step_of(recipe, ids, outcomes):
    """Play a step of two rollouts each; outcomes by id. Return the ids that were opened."""
    step = recipe.begin(len(ids), ids=ids)
    opened = [ids[place] for place, _ in step.ask()]
    step.tell(np.repeat([ids.index(name) for name in opened], 2), np.ravel([outcomes[name] for name in opened]))
    step.finish()
    return opened


def recipe(**settings):
    return winnow.Recipe("x", curriculum=Evict(**settings)).override(n=2)


OUTCOMES = {7: [1, 1], 8: [1, 0], 9: [0, 0]}


def test_solved_prompts_are_not_opened_again():
    rule = recipe()
    assert step_of(rule, [7, 8, 9], OUTCOMES) == [7, 8, 9]
    assert step_of(rule, [9, 7, 8], OUTCOMES) == [9, 8]


def test_two_in_a_row():
    rule = recipe(streak=2)
    for wanted, outcome in [([7], [1, 1]), ([7], [0, 1]), ([7], [1, 1]), ([7], [1, 1])]:
        assert step_of(rule, [7], {7: outcome}) == wanted
    assert step_of(rule, [7, 8], OUTCOMES) == [8]


def test_a_visit_without_verdicts_changes_nothing():
    rule = recipe(streak=2)
    for outcome in ([1, 1], [np.nan, np.nan], [1, np.nan]):
        step_of(rule, [7], {7: outcome})
    assert rule.curriculum.evicted(np.array([7, 8])).tolist() == [True, False]


def test_where_all_are_evicted_the_first_is_tried_and_may_come_back():
    rule = recipe()
    solved = {7: [1, 1], 8: [1, 1]}
    step_of(rule, [7, 8], solved)
    assert step_of(rule, [8, 7], solved) == [8]
    assert step_of(rule, [7, 8], OUTCOMES) == [7]
    assert step_of(rule, [8, 7], {8: [0, 1]}) == [8]
    assert step_of(rule, [7, 8], {8: [0, 1]}) == [8]


def test_looks_no_further_than_it_must():
    rule = Evict(oversample=2)
    choice = rule.choose(Candidates.of(range(8)), 4, np.random.default_rng(0))
    assert choice.opened.tolist() == [0, 1, 2, 3] and choice.visited == 4


def test_memory_goes_through_a_checkpoint_and_holds_solved_prompts_only():
    rule, again = recipe(), recipe()
    step_of(rule, [7, 8, 9], OUTCOMES)
    again.load_state_dict(rule.state_dict())
    assert again.state_dict() == rule.state_dict()
    assert rule.curriculum.state_dict()["ids"] == [7]
    assert step_of(again, [7, 8, 9], OUTCOMES) == [8, 9]


def test_settings_out_of_range():
    for wrong in ({"streak": 0}, {"oversample": 0}, {"streak": 1.5}):
        with pytest.raises(ConfigError, match="Evict"):
            Evict(**wrong)
