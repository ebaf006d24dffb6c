import json

import numpy as np
import pytest

import winnow
from winnow.budget import Budget
from winnow.effect import Noise, worth


def played(outcomes, ids=None, **settings):
    """Play a step in which prompt i gets these outcomes, one after the other."""
    step = winnow.recipe("winnow", **settings).begin(
        len(outcomes), budget=Budget(rollouts=sum(map(len, outcomes))), ids=ids or range(len(outcomes))
    )
    taken = [iter(group) for group in outcomes]
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [next(taken[prompt], 0.0) for _ in range(count)])
    return step.finish()


def test_every_opened_prompt_is_explained():
    batch = played([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0], [0] * 4, [1] * 4, [0, 1] * 2])
    found = batch.decisions
    assert found.prompts.tolist() == np.flatnonzero(batch.counts).tolist()
    assert found.rollouts.tolist() == batch.counts[found.prompts].tolist()
    assert found.rollouts.sum() == batch.ledger.rollouts
    for place, closed in enumerate(found.closed):
        right, wrong = found.right[place], found.rollouts[place] - found.right[place]
        kind = "contrast" if right and wrong else "solved" if right else "no success"
        assert closed in (kind, "out of budget")
        assert bool(found.effect[place]) == bool(right and wrong)
    assert found.before == pytest.approx(0.5)


def test_the_effect_is_that_of_the_group_and_its_belief():
    found = played([[1, 0, 0], [1, 1, 1]]).decisions
    place = found.prompts.tolist().index(0)
    right, size = int(found.right[place]), int(found.rollouts[place])
    failing = 1 - (1 / 3 + right) / (2 / 3 + size)
    # The rows are those that pay at the price of 1 and the rate of the step.
    assert found.effect[place] == pytest.approx(float(worth(right, size - right, failing, Noise(), found.rate).effect))


def test_prompts_are_numbered_as_the_candidates_and_named_in_the_record():
    recipe = winnow.recipe("winnow")
    names = [f"train:{i}" for i in range(8)]
    step = recipe.begin(8, ids=range(8), budget=Budget(rollouts=8))
    while not step.done:
        for prompt, count in step.ask():
            step.tell([prompt] * count, [float(i % 2) for i in range(count)])
    batch = step.finish()
    record = json.loads(json.dumps(batch.decisions.record(names)))
    assert record["prompt_id"] == [names[i] for i in np.flatnonzero(batch.counts)]
    assert {len(record[key]) for key in ("before", "rollouts", "right", "effect", "closed")} == {
        len(record["prompt_id"])
    }


def test_other_recipes_explain_nothing():
    step = winnow.recipe("grpo", n=2).begin(2)
    step.ask()
    step.tell([0, 0, 1, 1], [1, 0, 1, 1])
    assert step.finish().decisions is None
