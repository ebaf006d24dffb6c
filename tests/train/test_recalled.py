"""Rollouts of earlier steps in the embedded trainer: what they weigh, and that a resumed run has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import winnow
from tests.train.test_trainer import lines, train
from winnow.objective import Row
from winnow.objective.config import Objective, Totals
from winnow.recall import Recalled
from winnow.train.recalled import Stored

OPTIONS = {"k": 2, "start": 4, "capacity": 4}


def test_a_run_replays_from_the_second_epoch_on(settings):
    summary = train(settings(recipe="repo", recipe_options=OPTIONS, steps=6, eval_every=0))
    recalled = [record["recalled_rows"] for record in lines(summary["out"])[1:]]
    assert recalled[:3] == [0, 0, 0] and recalled[3:] == [8, 8, 8]  # 12 prompts, 4 a step


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
def test_replayed_rows_are_a_mean_of_their_own(aggregation):
    stored = Stored()
    stored._rows = {
        7: Row([1], np.arange(3), np.zeros(3, np.float32), 0.0),
        9: Row([1, 2], np.arange(5), np.zeros(5, np.float32), 0.0),
    }
    step = winnow.recipe("repo", n=2).begin(1, ids=[1])
    step.tell([0] * step.ask().total, [1.0, 0.0], tokens=[4, 6])
    batch = step.finish()
    advantages = np.array([0.7, -0.7])
    recalled = Recalled(np.zeros(2, int), np.array([7, 9]), np.array([1.0, 0.0]), advantages, 0.5, joint=False)
    object.__setattr__(batch, "recalled", recalled)
    rows, totals = stored.rows(batch, Objective(aggregation=aggregation))
    assert totals == Totals(2, 10, 2, 10)
    assert [row.advantage for row in rows] == [0.7, -0.7]
    expected = 0.5 * 10 / 8 if aggregation == "token" else 0.5 * 2 / 2
    assert [row.weight for row in rows] == pytest.approx([expected] * 2)
    object.__setattr__(batch, "recalled", replace(recalled, joint=True))
    rows, totals = stored.rows(batch, Objective(aggregation=aggregation))
    assert [row.weight for row in rows] == [0.5, 0.5] and totals == Totals(4, 18, 4, 18)
    for name in ("kept_rows", "kept_tokens", "full_rows", "full_tokens"):
        object.__setattr__(batch, name, 0)  # a gate let nothing through
    assert stored.rows(batch, Objective(aggregation=aggregation))[1] == Totals(2, 8, 2, 8)
    again = Stored()
    again.load_state_dict(stored.state_dict())
    assert again._rows[9].ids.tolist() == [0, 1, 2, 3, 4] and again._rows[9].prompt_ids == [1, 2]
