"""The two equalities that the adapter stands on: plain TRL for `grpo`, and winnow's own trainer for the rest."""

import numpy as np
import pytest
import torch

pytest.importorskip("trl")

import winnow
from tests.host import tiny
from winnow.candidates import named_by
from winnow.rollout import Rollout
from winnow.train.collect import collect
from winnow.train.seeds import derive


def weights(run):
    return torch.cat([p.detach().flatten() for p in run.model.parameters()])


SLOW = [
    pytest.param(name, 2, marks=pytest.mark.slow)
    for name in ("grpo", "bnpo", "dr_grpo", "sapo", "luspo", "cispo", "vespo")
]


def varied(completions, **columns):
    """The verdict and a little more: no group is without signal, where plain TRL would move weights by momentum."""
    return [value + 0.1 * (k % 4) for k, value in enumerate(tiny.correct(completions=completions, **columns))]


@pytest.mark.parametrize(("loss_type", "iterations"), [("dapo", 1), *SLOW])
def test_grpo_is_plain_trl(tmp_path, loss_type, iterations):
    settings = {"loss_type": loss_type, "num_iterations": iterations, "max_steps": 2 * iterations, "max_grad_norm": 0.5}
    # One after the other: the seed is set when a trainer is made.
    plain = tiny.trainer(tiny.config(tmp_path / "plain", **settings), varied)
    plain.train()
    ours = tiny.trainer(tiny.config(tmp_path / "ours", **settings), varied, recipe=winnow.recipe("grpo", n=4))
    ours.train()
    same = ("loss", "grad_norm", "reward", "reward_std", "num_tokens", "completions/mean_length", "entropy",
            "frac_reward_zero_std", "completions/clipped_ratio")  # fmt: skip
    for theirs, mine in zip(tiny.lines(plain), tiny.lines(ours), strict=True):
        for name in same:
            assert (name in theirs) == (name in mine)
            exact = pytest.approx(theirs.get(name, 0.0), abs=1e-5, rel=0.0 if name == "loss" else 1e-4)
            assert mine.get(name, 0.0) == exact, name
    assert any(line["grad_norm"] > 0.1 for line in tiny.lines(ours))
    # Adam turns the last bits of a gradient near zero into whole steps, so weights are compared as a whole.
    moved = (weights(plain) - torch.cat([p.flatten() for p in tiny.POLICY.model.parameters()])).norm()
    assert (weights(plain) - weights(ours)).norm() < 0.01 * moved


class Recorded:
    """A session of the embedded trainer that gives rollouts of a TRL step again, prompt by prompt."""

    def __init__(self, run, drawn):
        self.queued, self.in_flight = 0, 0
        self._waiting = {prompt: [] for prompt in range(len(drawn.examples))}
        for number, owner in enumerate(drawn.owners.tolist()):
            row = drawn.rows[number]
            ids = np.array(row.ids)
            draw = len(self._waiting[owner])
            self._waiting[owner].append(
                Rollout(owner, draw, ids, np.zeros(len(ids), np.float32), "stop", row.completion)
            )
        self._due = []

    def submit(self, requests):
        for prompt, count in requests:
            self._due += [self._waiting[prompt].pop(0) for _ in range(count)]
        self.in_flight = len(self._due)

    def advance(self):
        due, self._due, self.in_flight = self._due, [], 0
        return due


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(winnow.recipe("pods", n=12, m=4), id="pods", marks=pytest.mark.slow),
        pytest.param(winnow.recipe("vigor+pods", rounds=3, m=4), id="vigor+pods"),
        pytest.param(
            winnow.recipe("vigor+pods", rounds=3, m=4, weight="prompt", advantage="rloo"),
            id="weighted",
            marks=pytest.mark.slow,
        ),
        pytest.param(winnow.recipe("winnow", n=4), id="winnow"),
    ],
)
def test_same_rows_and_advantages_as_the_embedded_trainer(tmp_path, recipe):
    run = tiny.trainer(tiny.config(tmp_path, max_steps=2), recipe=recipe, kind=tiny.Watched)
    run.train()
    by_text = {prompt.content: prompt for prompt in tiny.MIX.train}
    recipe = recipe.fresh()
    for number, (drawn, output) in enumerate(zip(run.drawn, run.outputs, strict=True), start=1):
        prompts = [by_text[example["prompt"]] for example in drawn.examples]
        names = named_by([prompt.content for prompt in prompts])
        step = recipe.begin(prompts, seed=derive(run.args.seed, "decide", number), ids=names)
        theirs = collect(step, Recorded(run, drawn), prompts, tiny.MIX.reward, label="", barrier=True).batch
        ours = drawn.batch
        for name in ("rows", "prompts", "advantages", "weights", "counts"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        assert ours.fates == theirs.fates
        assert len(set(ours.counts.tolist())) >= (1 if recipe.name == "pods" else 3)
        trained = [
            (ids[mask.bool()].tolist(), pytest.approx(advantage.item(), abs=1e-6))
            for ids, mask, advantage in zip(
                output["completion_ids"], output["completion_mask"], output["advantages"], strict=True
            )
        ]
        expected = [(list(drawn.rows[row].ids), worth) for row, worth in
                    zip(ours.rows.tolist(), ours.advantages * ours.weights, strict=True)]  # fmt: skip
        assert expected == trained[: len(expected)]
        full = recipe.objective.denominator == "full"
        assert int(output["num_items_in_batch"]) == (ours.full_tokens if full else ours.kept_tokens)
        assert all(not row for row, _ in trained[len(expected) :])


@pytest.mark.slow
@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo"])
def test_slicing_a_ragged_batch_does_not_change_the_step(tmp_path, loss_type):
    """13 kept rows in 1, 2 and 7 slices: padding must weigh nothing (LOSS-01, R52)."""
    norms = []
    for batch, slices in ((14, 1), (7, 2), (2, 7)):
        args = tiny.config(
            tmp_path / str(slices), loss_type=loss_type, max_steps=1, num_generations=2, max_grad_norm=0.0,
            per_device_train_batch_size=batch, gradient_accumulation_steps=slices,
        )  # fmt: skip
        recipe = winnow.recipe("vigor", rounds=2, initial=2, growth=1.5).override(allocation=Lopsided())
        run = tiny.trainer(args, recipe=recipe, kind=tiny.Watched)
        run.train()
        assert run.drawn[0].batch.kept_rows == 13
        norms.append(tiny.lines(run)[0]["grad_norm"])
    assert norms[0] > 0.01
    assert norms == pytest.approx([norms[0]] * 3, rel=1e-4)


class Lopsided(winnow.allocation.Uniform):
    """Gives 7 prompts 13 rollouts between them: 2 to most, none to one, 3 to one."""

    def __init__(self):
        super().__init__(2)

    def begin(self, prompts, rollouts, rng):
        return _OneGrant(len(prompts))


class _OneGrant:
    finished, reason = False, "all granted"

    def __init__(self, prompts):
        self._prompts = prompts

    def next(self, seen, left):
        if self.finished:
            return winnow.allocation.base.NOTHING
        self.finished = True
        counts = np.full(self._prompts, 2)
        counts[0], counts[-1] = 3, 0
        return winnow.allocation.base.Grant(np.flatnonzero(counts), counts[counts > 0])

    def hear(self, prompts, seen):
        pass
