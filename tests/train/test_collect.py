from __future__ import annotations

import numpy as np
import pytest

import winnow
from winnow.errors import BudgetError
from winnow.rollout import Prompt, Rollout, Verdict
from winnow.train.collect import Interrupted, collect

PROMPTS = [Prompt(f"train:{i}", "p") for i in range(4)]


class Fake:
    """A session in which rollouts of prompt p take p + 1 turns."""

    def __init__(self, slots):
        self.slots, self.queue, self.flying = slots, [], []
        self.most = 0
        self.draws = [0] * 4

    in_flight = property(lambda self: len(self.flying))
    queued = property(lambda self: len(self.queue))
    free = property(lambda self: max(0, self.slots - len(self.flying) - len(self.queue)))

    def submit(self, requests):
        for prompt, count in requests:
            for _ in range(count):
                self.queue.append([prompt, self.draws[prompt], prompt + 1])
                self.draws[prompt] += 1

    def advance(self):
        done = []
        while not done and (self.queue or self.flying):
            while self.queue and len(self.flying) < self.slots:
                self.flying.append(self.queue.pop(0))
            self.most = max(self.most, len(self.flying))
            for row in self.flying:
                row[2] -= 1
            done = [row for row in self.flying if row[2] == 0]
            self.flying = [row for row in self.flying if row[2]]
        return [
            Rollout(p, d, np.arange(3), np.zeros(3, np.float32), "stop", f"{(p + d) % 2}") for p, d, _ in done[::-1]
        ]


class Odd:
    name = "odd"

    def __init__(self):
        self.batches = []

    def score(self, items):
        self.batches.append([item.rollout for item in items])
        return [Verdict(float(item.completion)) for item in items]


def run(recipe, slots=100, **changes):
    reward, session = Odd(), Fake(slots)
    step = recipe.begin(4, budget=winnow.Budget(rollouts=32), seed=0)
    found = collect(step, session, PROMPTS, reward, label="7", barrier=recipe.barrier, **changes)
    return found, reward, session


def test_rounds_are_scored_in_one_call_each():
    found, reward, _ = run(winnow.recipe("vigor", n=8))
    assert len(found.rollouts) == 32 and len(reward.batches) == found.batch.ledger.waves
    assert reward.batches[0][:2] == ["7/train:0/0", "7/train:0/1"]


def test_streaming_scores_as_rollouts_finish_and_never_queues():
    found, reward, session = run(winnow.recipe("vigor", n=8, barrier=False), slots=6)
    assert len(found.rollouts) == 32 and len(reward.batches) > 8
    assert session.most <= 6


def test_rows_of_the_batch_are_positions_in_the_list():
    found, _, _ = run(winnow.recipe("grpo", n=8))
    batch = found.batch
    assert [found.rollouts[row].prompt for row in batch.rows] == batch.prompts.tolist()
    for row, advantage in zip(batch.rows, batch.advantages, strict=True):
        assert (advantage > 0) == (found.rollouts[row].verdict.score == 1)


def test_the_same_step_again_is_the_same():
    def order():
        found, _, _ = run(winnow.recipe("vigor+pods", n=8, m=2, barrier=False), slots=5)
        return [(r.prompt, r.draw) for r in found.rollouts], found.batch.rows.tolist()

    assert order() == order()


def test_stopping_leaves_between_two_decoding_steps():
    turns = iter([False, False, True])
    with pytest.raises(Interrupted):
        run(winnow.recipe("grpo", n=8), slots=4, stopped=lambda: next(turns))


def test_a_recipe_that_waits_for_nothing_is_an_error():
    class Stuck:
        recipe = winnow.recipe("grpo")
        done = False

        def ask(self, limit):
            return []

    with pytest.raises(BudgetError, match="step 7"):
        collect(Stuck(), Fake(4), PROMPTS, Odd(), label="7", barrier=True)


def test_outcomes_default_to_the_score_and_unscorable_is_nan():
    told = {}

    class Once:
        recipe = winnow.recipe("grpo")
        done = False

        def ask(self, limit):
            return [(0, 3)]

        def tell(self, prompts, rewards, *, outcomes, tokens):
            told.update(rewards=rewards, outcomes=outcomes, tokens=tokens)
            self.done = True

        def finish(self):
            return None

    class Mixed:
        name = "mixed"

        def score(self, items):
            return [Verdict(0.4, outcome=1.0), Verdict(0.2), Verdict(None)]

    collect(Once(), Fake(4), PROMPTS, Mixed(), label="7", barrier=True)
    np.testing.assert_array_equal(told["rewards"], [0.4, 0.2, np.nan])
    np.testing.assert_array_equal(told["outcomes"], [1.0, 0.2, np.nan])
    np.testing.assert_array_equal(told["tokens"], [3, 3, 3])
