"""Real steps of TRL with recipes: rewards, prompts, denominators, logs, empty steps, checkpoints."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

pytest.importorskip("trl")

import pandas as pd

import winnow
from tests.conftest import CASES
from tests.host import tiny
from winnow.budget import Budget
from winnow.errors import ConfigError, ResumeError, SafetyStop
from winnow.host import checkpoint
from winnow.host.trl import as_function
from winnow.host.trl.spares import Spares
from winnow.reward.exact import Exact

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def weights(run):
    return torch.cat([p.detach().flatten() for p in run.model.parameters()])


def test_rewards_that_abstain_await_and_log(tmp_path):
    """None is unscorable, one function gives the outcome, and the table on disk holds the rows that train."""

    def verdict(completions, log_extra, log_metric, **columns):
        log_extra("length", [len(text) for text in completions])
        log_metric("calls", 1.0)
        return [None if len(text) > 3 else float(len(text) == 1) for text in completions]

    async def shaping(completion_ids, **columns):
        return [None if len(ids) > 4 else 0.1 * len(ids) for ids in completion_ids]

    args = tiny.config(tmp_path, max_steps=1, reward_weights=[1.0, 0.5], log_completions=True,
                       gradient_accumulation_steps=1, per_device_train_batch_size=16)  # fmt: skip
    recipe = winnow.recipe("pods", n=10, m=4)
    run = tiny.trainer(args, [verdict, shaping], recipe=recipe, outcome="verdict", kind=tiny.Watched)
    run.train()
    [drawn], [output], [line] = run.drawn, run.outputs, tiny.lines(run)
    lengths = np.array([len(row.completion) for _, row in sorted(drawn.rows.items())])
    assert np.array_equal(np.isnan(drawn.rewards), (lengths > 3) & (drawn.lengths > 4))
    assert np.array_equal(np.isnan(drawn.outcomes), lengths > 3)
    known = np.isfinite(drawn.rewards)
    expected = np.nan_to_num(drawn.parts[:, 0]) + 0.5 * np.nan_to_num(drawn.parts[:, 1])
    assert np.allclose(drawn.rewards[known], expected[known])
    assert 0 < line["winnow/unscorable"] == np.count_nonzero(~known)
    assert set(drawn.batch.rows) <= set(np.flatnonzero(known))
    assert line["winnow/rollouts"] == 40
    assert line["reward"] == line["winnow/reward/all"] == pytest.approx(drawn.rewards[known].mean())
    assert line["winnow/reward/selected"] == pytest.approx(drawn.rewards[drawn.batch.rows].mean())
    assert line["completions/mean_length"] == pytest.approx(drawn.lengths.mean())
    assert line["calls"] == 1.0
    table = pd.read_parquet(next((tmp_path / "completions").glob("*.parquet")))
    assert len(table) == drawn.batch.kept_rows == int(output["winnow_real"].sum())
    assert table["advantage"].tolist() == pytest.approx((drawn.batch.advantages * drawn.batch.weights).tolist())
    assert table["length"].tolist() == lengths[drawn.batch.rows].tolist()


def test_old_and_reference_log_probabilities_are_of_kept_rows(tmp_path):
    """LoRA, messages, a divergence, two updates a generation, unequal groups: TRL computes for kept rows only."""
    from peft import LoraConfig

    tokenizer = tiny.POLICY.tokenizer.__class__.from_pretrained(tiny.MIX.policy)
    tokenizer.chat_template = TEMPLATE
    args = tiny.config(tmp_path, max_steps=2, steps_per_generation=4, gradient_accumulation_steps=2, beta=0.05,
                       per_device_train_batch_size=4)  # fmt: skip
    run = tiny.trainer(args, data=tiny.dataset(chat=True), recipe=winnow.recipe("vigor+pods", rounds=3, m=4),
                       kind=tiny.Watched, processing_class=tokenizer,
                       peft_config=LoraConfig(r=2, target_modules=["q_proj"]))  # fmt: skip
    before = {name: p.detach().clone() for name, p in run.model.named_parameters()}
    run.train()
    [drawn], [output] = run.drawn, run.outputs
    places = output["advantages"].shape[0]
    assert drawn.batch.kept_rows == 12 and drawn.batch.ledger.rollouts == 24
    assert places == 12
    assert output["old_per_token_logps"].shape[0] == output["ref_per_token_logps"].shape[0] == places
    assert all(isinstance(row.completion, list) for row in drawn.rows.values())
    changed = {name for name, p in run.model.named_parameters() if not torch.equal(p, before[name])}
    assert changed and all("lora" in name for name in changed)
    assert tiny.lines(run)[1]["kl"] > 0


def test_a_step_without_signal_changes_nothing_and_ends_the_run(tmp_path):
    """LOSS-04: momentum and weight decay do not move the weights either."""
    turns = iter([True, False, False, False])

    def signal(completions, **columns):
        useful = next(turns)
        return [float(useful and k % 2) for k in range(len(completions))]

    args = tiny.config(tmp_path, max_steps=4, weight_decay=CASES["LOSS-04"]["input"]["weight_decay"])
    run = tiny.trainer(args, signal, recipe=winnow.recipe("grpo", n=4), max_no_signal_steps=3)
    seen = []
    step = run.training_step
    run.training_step = lambda *a, **k: (seen.append(weights(run)), step(*a, **k))[1]
    with pytest.raises(SafetyStop, match="3 optimiser steps in a row had no trainable row"):
        run.train()
    assert not torch.equal(seen[0], seen[2])
    assert torch.equal(seen[2], seen[-1]) and torch.equal(seen[2], weights(run))
    assert run._empty.skipped == 3


def test_with_a_divergence_nothing_is_skipped(tmp_path):
    run = tiny.trainer(tiny.config(tmp_path, max_steps=1, beta=0.1), lambda completions, **_: [1.0] * len(completions),
                       recipe=winnow.recipe("grpo", n=4), max_no_signal_steps=1)  # fmt: skip
    assert run.learns_without_signal
    run.train()
    assert run._empty.skipped == 0


@dataclass(frozen=True, slots=True)
class Growing(winnow.allocation.Uniform):
    """Gives one rollout more with every step: state that a checkpoint has to carry."""

    memory: dict = field(default_factory=lambda: {"steps": 0}, compare=False)

    def begin(self, prompts, rollouts, rng):
        self.memory["steps"] += 1
        return winnow.allocation.Uniform(self.n + self.memory["steps"]).begin(prompts, rollouts, rng)

    def state_dict(self):
        return dict(self.memory)

    def load_state_dict(self, state):
        self.memory.update(state)


def growing():
    return winnow.Recipe("growing", allocation=Growing(4), selection=winnow.selection.Select("random", 4))


@pytest.mark.slow
def test_a_resumed_run_is_the_same_run(tmp_path):
    """RES-02: recipe state, seeds of later steps and counters go on where they were."""
    settings = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    budget = Budget(rollouts=100)
    whole = tiny.trainer(tiny.config(tmp_path, **settings), recipe=growing(), budget=budget, kind=tiny.Watched)
    whole.train()
    assert [drawn.batch.counts[0] for drawn in whole.drawn] == [5, 6, 7, 8]
    again = tiny.trainer(tiny.config(tmp_path, **settings), recipe=growing(), budget=budget, kind=tiny.Watched)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert [drawn.batch.counts[0] for drawn in again.drawn] == [7, 8]
    for first, second in zip(whole.drawn[2:], again.drawn, strict=True):
        assert np.array_equal(first.batch.rows, second.batch.rows)
        assert [first.rows[k].ids for k in first.rows] == [second.rows[k].ids for k in second.rows]
    assert torch.equal(weights(whole), weights(again))
    assert tiny.lines(again)[-1]["winnow/total/rollouts"] == 4 * (5 + 6 + 7 + 8)
    other = tiny.trainer(tiny.config(tmp_path, **settings), recipe=winnow.recipe("pods", n=8, m=4))
    with pytest.raises(ResumeError, match=r"recipe.allocation.*n was 4, now 8"):
        other.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    mine = checkpoint.identity(winnow.recipe("pods"), None, 1)
    checkpoint.save(tmp_path, {"identity": mine})
    assert checkpoint.load(tmp_path, json.loads(json.dumps(mine))) == {"identity": mine}
    assert checkpoint.load(tmp_path / "elsewhere", mine) is None
    with pytest.raises(ResumeError, match=r"recipe.selection.m was 8, now 4; seed was 1, now 2"):
        checkpoint.load(tmp_path, checkpoint.identity(winnow.recipe("pods", m=4), None, 2))


@pytest.mark.slow
def test_a_token_budget_is_kept(tmp_path):
    budget = Budget(tokens=150)
    run = tiny.trainer(tiny.config(tmp_path, max_steps=2), recipe=winnow.recipe("pods", n=12, m=4), budget=budget)
    run.train()
    for line in tiny.lines(run):
        assert 150 - 12 < line["winnow/tokens"] <= 150
        assert line["winnow/waves"] > 1


@pytest.mark.slow
def test_dapo_draws_spares_and_gives_them_back(tmp_path):
    args = tiny.config(tmp_path, max_steps=3, epsilon_high=0.28)
    run = tiny.trainer(args, recipe=winnow.recipe("dapo", n=4), kind=tiny.Watched)
    run.train()
    for drawn in run.drawn:
        assert len(drawn.examples) == 12
        assert drawn.batch.signal[drawn.batch.prompts].all()
        assert drawn.batch.kept_rows <= 16
    used = sum(int((drawn.batch.counts[4:] > 0).sum()) for drawn in run.drawn)
    assert run._spares.state_dict()["position"] == used > 0


def test_spares_come_in_one_order_and_unused_ones_come_first(tmp_path):
    spares = Spares(winnow.recipe("dapo"), tiny.dataset(20), seed=1)
    first = spares.next(3)
    assert len(first) == 6

    class Batch:
        counts = np.array([8, 8, 8, 8, 8, 0, 0, 0, 0])
        visited = 5

    spares.give_back(Batch)
    state = spares.state_dict()
    assert spares.next(3)[:4] == first[2:]
    other = Spares(winnow.recipe("dapo"), tiny.dataset(20), seed=1)
    other.load_state_dict(state)
    assert other.next(1) == first[2:4]
    with pytest.raises(ConfigError, match="streamed dataset"):
        Spares(winnow.recipe("dapo"), tiny.dataset(20).to_iterable_dataset(), seed=1)
    assert Spares(winnow.recipe("pods"), tiny.dataset(20), seed=1).next(3) == []


@pytest.mark.slow
def test_evaluation_is_trl_s_own(tmp_path):
    args = tiny.config(tmp_path, max_steps=1, eval_strategy="steps", eval_steps=1, per_device_eval_batch_size=8,
                       num_generations_eval=2)  # fmt: skip
    run = tiny.trainer(args, recipe=winnow.recipe("pods", n=8, m=4), eval_dataset=tiny.dataset(8))
    run.train()
    [line] = [line for line in run.state.log_history if "eval_reward" in line]
    assert not any("winnow" in name for name in line)


def test_winnow_rewards_as_reward_functions():
    score = as_function(Exact())
    assert score.__name__ == "exact"
    columns = {"answer": ["7", 7, None], "trainer_state": object(), "completion_ids": [[1], [2], [3]]}
    assert score(["p"] * 3, ["7", "8", "7"], **columns) == [1.0, 0.0, None]
    assert score([[{"role": "user", "content": "p"}]], [[{"role": "assistant", "content": " 7"}]], answer=["7"]) == [
        1.0
    ]


def test_a_recipe_that_remembers_prompts_sees_them_by_their_text(tmp_path):
    run = tiny.trainer(tiny.config(tmp_path, max_steps=3), recipe=winnow.recipe("greso", n=4))
    run.train()
    streaks = run.recipe.state_dict()["curriculum"]["streaks"]
    assert 0 < len(streaks["ids"]) <= len({example["prompt"] for example in run.train_dataset})


def test_a_recipe_that_needs_the_texts_of_all_ranks_is_refused(tmp_path):
    def by_answer(rewards, groups, *, answers):
        raise AssertionError

    by_answer.needs = ("answers",)
    with pytest.raises(ConfigError, match="needs answers of every rollout"):
        tiny.trainer(tiny.config(tmp_path), recipe=winnow.recipe("grpo", n=4, advantage=by_answer))
    with pytest.raises(ConfigError, match="continues rollouts from inside"):
        tiny.trainer(tiny.config(tmp_path), recipe="branch")
