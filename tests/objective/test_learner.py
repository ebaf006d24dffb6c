"""The optimiser step: same gradient for every split, and nothing touched when nothing can train."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import CASES
from tests.engine.models import build, ragged_prompts
from winnow.errors import ConfigError
from winnow.objective import Learner, Objective, Row, Totals, completion_logprobs
from winnow.objective.microbatch import micro_batches
from winnow.objective.schedule import Schedule


def rows_for(model: Any, count: int = 8, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(count):
        prompt = ragged_prompts()[index % 3]
        ids = rng.integers(3, 40, size=int(rng.integers(1, 8)))
        with torch.no_grad():
            logprobs = completion_logprobs(model, [prompt], [ids.tolist()])[0].float().numpy()
        drift = rng.normal(scale=0.1, size=len(ids)).astype(np.float32)
        rows.append(Row(prompt, ids, logprobs + drift, float(rng.normal()), float(rng.uniform(0.5, 2))))
    return rows


def totals_for(rows: list[Row]) -> Totals:
    tokens = sum(len(row.ids) for row in rows)
    return Totals(len(rows), tokens, 2 * len(rows), 3 * tokens)


def learner(model: Any, **changes: Any) -> Learner:
    settings: dict[str, Any] = {"lr": 1e-2, "objective": Objective(), "temperature": 1.0}
    return Learner(model, **(settings | changes))


def weights(model: Any) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def gradient(model: Any, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[torch.Tensor]:
    """The gradient of one update, caught before the optimiser uses it."""
    found: list[torch.Tensor] = []
    student = learner(model, max_grad_norm=math.inf, **changes)
    monkeypatch.setattr(student, "_step", lambda: found.extend(p.grad.clone() for p in model.parameters()))
    rows = rows_for(model)
    student.update(rows, totals_for(rows))
    return found


@pytest.mark.parametrize("aggregation", ["token", "sequence", "constant"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-6)])
def test_micro_batches_never_change_the_gradient(
    aggregation: str, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build("llama").to(dtype)
    objective = Objective(aggregation=aggregation, constant_length=8)  # type: ignore[arg-type]
    results = [gradient(model, monkeypatch, objective=objective, micro_batch=k) for k in (8, 4, 2, 1, 100)]
    assert max(float(g.abs().max()) for g in results[0]) > 1e-3
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


def test_micro_batches_cover_every_row_once_and_keep_prompts_together() -> None:
    rows = rows_for(build("llama"), 9)
    for most in (1, 2, 4, None):
        batches = micro_batches(rows, most)
        assert sorted(id(row) for batch in batches for row in batch) == sorted(map(id, rows))
        assert most is None or max(map(len, batches)) <= most
    prompts = [tuple(row.prompt_ids) for batch in micro_batches(rows, 2) for row in batch]
    assert len([1 for a, b in pairwise(prompts) if a != b]) == 2


def test_rows_without_advantage_stay_out_of_the_model_and_in_the_denominator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = build("llama")
    rows = rows_for(model)
    dead = [replace(row, advantage=0.0) for row in rows_for(model, 5, seed=1)]
    totals = totals_for(rows + dead)
    before = copy.deepcopy(model.state_dict())
    stats = learner(model).update(rows + dead, totals)
    assert (stats.rows, stats.tokens) == (8, sum(len(row.ids) for row in rows))
    after = weights(model)
    model.load_state_dict(before)
    learner(model).update(rows, totals)
    assert same(after, weights(model))


def test_loss_04_a_step_without_trainable_rows_touches_nothing() -> None:
    assert CASES["LOSS-04"]["expected"]["weights_changed"] is False
    model = build("llama")
    student = learner(model, weight_decay=CASES["LOSS-04"]["input"]["weight_decay"], warmup_steps=5)
    rows = rows_for(model)
    student.update(rows, totals_for(rows))
    before, state = weights(model), copy.deepcopy(student.state_dict())
    for batch in (
        [],
        [replace(row, advantage=0.0) for row in rows],
        [replace(row, weight=0.0) for row in rows],
        [Row([3], np.array([], dtype=np.int64), np.array([], dtype=np.float32), 1.0)],
    ):
        stats = student.update(batch, totals_for(rows))
        assert stats.skipped and stats.loss == 0.0 and stats.optimizer_steps == 0
        assert same(before, weights(model))
        assert equal_state(state, student.state_dict())


def equal_state(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal_state(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal_state, a, b))
    return bool(a == b)


@pytest.mark.parametrize("broken", ["advantage", "logprobs"])
def test_a_loss_that_is_not_finite_takes_no_step(broken: str) -> None:
    model = build("llama")
    student = learner(model)
    rows = rows_for(model)
    student.update(rows, totals_for(rows))
    before, moments = weights(model), copy.deepcopy(student.optimizer.state_dict())
    bad = {"advantage": math.inf} if broken == "advantage" else {"logprobs": rows[0].logprobs * math.nan}
    stats = student.update([replace(rows[0], **bad), *rows[1:]], totals_for(rows))
    assert stats.nonfinite and stats.optimizer_steps == 0 and not stats.skipped
    assert same(before, weights(model)) and equal_state(moments, student.optimizer.state_dict())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert student.update(rows, totals_for(rows)).optimizer_steps == 1


def test_one_minibatch_is_the_whole_batch_and_shares_add_up() -> None:
    model = build("llama")
    rows = rows_for(model)
    for aggregation in ("token", "sequence"):
        student = learner(model, minibatches=3, objective=Objective(aggregation=aggregation))  # type: ignore[arg-type]
        parts = list(student._shares(rows, 0))
        assert sum(share for _, share in parts) == pytest.approx(1.0)
        assert sorted(id(row) for part, _ in parts for row in part) == sorted(map(id, rows))
        again = [[id(row) for row in part] for part, _ in student._shares(rows, 0)]
        assert again == [[id(row) for row in part] for part, _ in parts]
        assert again != [[id(row) for row in part] for part, _ in student._shares(rows, 1)]
    assert list(learner(model)._shares(rows, 0)) == [(rows, 1.0)]


def test_epochs_and_minibatches_take_their_steps() -> None:
    model = build("llama")
    rows = rows_for(model)
    student = learner(model, epochs=2, minibatches=3)
    assert student.update(rows, totals_for(rows)).optimizer_steps == 6
    assert student.steps == 6


def test_the_loss_reported_is_that_of_the_whole_batch() -> None:
    model = build("llama")
    rows = [replace(row, advantage=1.0, weight=1.0) for row in rows_for(model)]
    exact = []
    for row in rows:
        new = completion_logprobs(model, [row.prompt_ids], [row.ids.tolist()])[0]
        row = replace(row, logprobs=new.detach().numpy())
        exact.append(row)
    stats = learner(model).update(exact, totals_for(exact))
    assert stats.loss == pytest.approx(-1.0, abs=1e-5)
    assert stats.ratio_mean == pytest.approx(1.0, abs=1e-4) and stats.ratio_max == pytest.approx(1.0, abs=1e-4)
    assert stats.clip_fraction == 0.0 and stats.kl is None and stats.drift == pytest.approx(0.0, abs=1e-6)


def test_equal_advantages_per_token_are_the_advantage_of_the_row() -> None:
    changed = []
    for per_token in (False, True):
        model = build("llama")
        rows = rows_for(model)
        if per_token:
            rows = [replace(row, advantage=np.full(len(row.ids), row.advantage)) for row in rows]
        learner(model).update(rows, totals_for(rows))
        changed.append(torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()]))
    assert torch.equal(*changed)


def test_an_update_raises_what_was_rewarded() -> None:
    model = build("llama")
    rows = [replace(row, advantage=1.0 if index else -1.0) for index, row in enumerate(rows_for(model, 2))]

    def total(row: Row) -> float:
        return float(completion_logprobs(model, [row.prompt_ids], [row.ids.tolist()]).sum().detach())

    before = [total(row) for row in rows]
    learner(model, lr=1e-3).update(rows, totals_for(rows))
    after = [total(row) for row in rows]
    assert after[0] < before[0] and after[1] > before[1]


def test_a_resumed_learner_continues_bit_for_bit() -> None:
    model = build("llama")
    student = learner(model, warmup_steps=3, minibatches=2, weight_decay=0.1)
    rows = rows_for(model)
    student.update(rows, totals_for(rows))
    copied, state = copy.deepcopy(model), copy.deepcopy(student.state_dict())
    student.update(rows, totals_for(rows))
    resumed = learner(copied, warmup_steps=3, minibatches=2, weight_decay=0.1)
    resumed.load_state_dict(state)
    resumed.update(rows, totals_for(rows))
    assert same(weights(model), weights(copied))


def test_divergence_to_a_reference_trains_rows_without_advantage() -> None:
    model, reference = build("llama"), build("llama")
    rows = [replace(row, advantage=0.0, weight=1.0) for row in rows_for(model)]
    student = learner(model, objective=Objective(kl_beta=1.0), reference=reference, lr=1e-3)
    first = student.update(rows, totals_for(rows))
    assert first.kl == pytest.approx(0.0, abs=1e-9) and not first.skipped
    with torch.no_grad():
        model.lm_head.weight.mul_(2.0)
    before = student.update(rows, totals_for(rows)).kl
    for _ in range(5):
        after = student.update(rows, totals_for(rows)).kl
    assert after < before
    assert all(parameter.grad is None for parameter in reference.parameters())


def test_a_peft_model_is_its_own_reference() -> None:
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(build("llama"), peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
    rows = rows_for(model)
    student = learner(model, objective=Objective(kl_beta=0.1), reference=model, lr=0.1)
    frozen = [p.clone() for p in model.parameters() if not p.requires_grad]
    assert student.update(rows, totals_for(rows)).kl == pytest.approx(0.0, abs=1e-9)
    assert student.update(rows, totals_for(rows)).kl > 0
    assert same(frozen, [p for p in model.parameters() if not p.requires_grad])


def test_gradients_are_clipped_to_the_norm() -> None:
    model = build("llama")
    rows = rows_for(model)
    sizes = []
    student = learner(model, max_grad_norm=1e-3)
    student._step = lambda: sizes.append(  # type: ignore[method-assign]
        float(torch.stack([p.grad.norm() for p in model.parameters()]).norm())
    )
    stats = student.update(rows, totals_for(rows))
    assert stats.grad_norm > 1e-2 and sizes[0] == pytest.approx(1e-3, rel=1e-3)


def test_schedules() -> None:
    warm = Schedule(1.0, warmup_steps=4)
    assert [warm.at(step) for step in (0, 1, 3, 4, 100)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    cosine = Schedule(1.0, warmup_steps=2, shape="cosine", total_steps=12)
    assert [round(cosine.at(step), 6) for step in (0, 2, 7, 12, 99)] == [0.5, 1.0, 0.5, 0.0, 0.0]
    with pytest.raises(ConfigError, match="total_steps"):
        Schedule(1.0, shape="cosine")


def test_dropout_is_off_and_training_mode_comes_back() -> None:
    model = build("gpt2", resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)
    rows = rows_for(model)
    model.train()
    stats = learner(model).update(rows, totals_for(rows))
    assert stats.ratio_max < 2.0 and model.training and model.transformer.drop.training


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"epochs": 0}, "epochs"),
        ({"minibatches": 0}, "minibatches"),
        ({"micro_batch": 0}, "micro_batch"),
        ({"temperature": 0.0}, "temperature"),
        ({"max_grad_norm": 0.0}, "max_grad_norm"),
        ({"lr": -1.0}, "lr"),
        ({"lr": math.nan}, "lr"),
        ({"warmup_steps": -1}, "warmup_steps"),
        ({"schedule": "linear"}, "schedule"),
        ({"objective": Objective(kl_beta=0.1)}, "reference"),
    ],
)
def test_bad_settings(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        learner(build("llama"), **settings)


def test_totals_must_count_what_trains() -> None:
    model = build("llama")
    with pytest.raises(ConfigError, match="nothing to divide by"):
        learner(model).update(rows_for(model), Totals(0, 0, 0, 0))
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(ConfigError, match="requires_grad"):
        learner(model)


def test_loss_09_says_where_the_outlier_is() -> None:
    """A token that the reference finds far likelier is clamped, counted, and named by row and position."""
    model, reference = build("llama"), build("llama")
    rows = rows_for(model)
    with torch.no_grad():
        reference.lm_head.weight.mul_(5.0)
    student = learner(model, objective=Objective(kl_beta=0.1, kl_clamp=2.0), reference=reference, lr=0.0)
    stats = student.update(rows, totals_for(rows))
    expected = []
    for index, row in enumerate(rows):
        new, old = (
            completion_logprobs(m, [row.prompt_ids], [row.ids.tolist()])[0].detach() for m in (model, reference)
        )
        gap = (old - new).tolist()
        expected += [(index, token, value) for token, value in enumerate(gap) if abs(value) > 2.0]
    assert 0 < len(expected) == stats.kl_clamped
    found = sorted((outlier.row, outlier.token, outlier.log_ratio) for outlier in stats.kl_outliers)
    assert len(found) == min(20, len(expected))
    for row, token, value in found:
        assert value == pytest.approx(next(v for r, t, v in expected if (r, t) == (row, token)), abs=1e-4)
