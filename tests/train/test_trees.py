"""Recipes whose rollouts continue others, in the embedded trainer."""

from __future__ import annotations

import numpy as np
import pytest

import winnow
from tests.train.conftest import make_policy
from winnow.engine import Sampler
from winnow.objective.logprobs import completion_logprobs
from winnow.train.collect import collect
from winnow.train.encoding import Split
from winnow.train.update import rows_of


@pytest.mark.parametrize("name", ["branch", "trace", "vineppo"])
def test_every_own_token_trains_once_and_behind_what_it_continues(name, task):
    model, tokenizer = make_policy()
    prompts = list(task.train[:4])
    encoded = [tokenizer(prompt.text, add_special_tokens=False)["input_ids"] for prompt in prompts]
    recipe = winnow.recipe(name)
    step = recipe.begin(prompts, ids=range(4), seed=1)
    session = Sampler(model, tokenizer, max_new_tokens=8).session(encoded, seed=2, forks=True)
    found = collect(step, session, prompts, task.reward, label="1", barrier=recipe.barrier)
    assert len({(rollout.prompt, rollout.draw) for rollout in found.rollouts}) == len(found.rollouts) == 32
    deep = [rollout for rollout in found.rollouts if rollout.prefix is not None]
    assert deep
    for rollout in deep:
        assert len(rollout.prefix) + len(rollout.ids) <= 8
        whole = np.concatenate((rollout.prefix, rollout.ids))
        assert rollout.text == tokenizer.decode(whole, skip_special_tokens=True)
    rows = rows_of(Split(prompts, encoded), found)
    for row, kept in zip(rows, found.batch.rows.tolist(), strict=True):
        exact = completion_logprobs(model, [row.prompt_ids], [row.ids.tolist()])[0].detach().numpy()
        assert row.logprobs == pytest.approx(exact, abs=1e-4)
        assert np.shape(row.advantage) == row.ids.shape
        assert row.ids is found.rollouts[kept].ids
    assert found.batch.ledger.tokens == sum(len(rollout.ids) for rollout in found.rollouts)
