import numpy as np

import winnow


def play(recipe, outcomes, ids):
    """One step over candidates ``ids`` in which prompt i has the outcomes ``outcomes[i]``; return the ids opened."""
    step = recipe.begin(len(ids), ids=ids)
    opened = []
    for place, count in step.ask():
        opened.append(ids[place])
        step.tell([place] * count, outcomes[ids[place]])
    step.finish()
    return opened


def test_prompts_with_signal_sit_out_one_visit_and_those_without_stay():
    recipe = winnow.recipe("recycle", n=2)
    outcomes = {1: [0, 1], 2: [0, 0], 3: [1, 1], 4: [0, 1]}
    assert play(recipe, outcomes, [1, 2, 3, 4]) == [1, 2]
    assert play(recipe, outcomes, [1, 2, 3, 4]) == [2, 3]  # 1 is passed over
    assert play(recipe, outcomes, [1, 2, 3, 4]) == [1, 2]
    assert play(recipe, outcomes, [4, 1, 2, 3]) == [4, 2]
    assert play(recipe, outcomes, [4, 1, 2, 3]) == [1, 2]


def test_candidates_that_were_not_looked_at_do_not_count_as_visited():
    recipe = winnow.recipe("recycle", n=2, rounds=2)
    outcomes = {prompt: [0, 1] for prompt in range(8)}
    assert play(recipe, outcomes, [0, 1, 2, 3]) == [0, 1]
    assert play(recipe, outcomes, [4, 5, 0, 1]) == [4, 5]
    rest = recipe.curriculum._rest.get("visits", np.arange(6)).tolist()
    assert rest == [2, 2, 0, 0, 2, 2]
    assert play(recipe, outcomes, [0, 1, 2, 3]) == [2, 3]
    assert recipe.curriculum._rest.get("visits", np.arange(2)).tolist() == [1, 1]


def test_a_step_in_which_all_sit_out_opens_the_first():
    recipe = winnow.recipe("recycle", n=2)
    outcomes = {prompt: [0, 1] for prompt in range(4)}
    play(recipe, outcomes, [0, 1])
    play(recipe, outcomes, [1, 0])
    assert play(recipe, outcomes, [0, 1]) == [0]
    again = winnow.recipe("recycle", n=2)
    again.load_state_dict(recipe.state_dict())
    assert again.state_dict() == recipe.state_dict()
