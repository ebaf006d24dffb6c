"""Small steps on bfloat16 weights add up, and survive a checkpoint."""

import copy

import torch

from tests.engine.models import build
from tests.objective.test_learner import learner, rows_for, same, totals_for, weights


def drift(model, before):
    return sum(float((a.float() - b.float()).abs().sum()) for a, b in zip(weights(model), before, strict=True))


def test_small_steps_on_bfloat16_weights_add_up():
    full, low = build("llama"), build("llama").to(torch.bfloat16)
    full.load_state_dict({name: value.float() for name, value in low.state_dict().items()})
    start, rows = weights(low), rows_for(full)
    students = [learner(model, lr=1e-5) for model in (full, low)]
    for _ in range(60):
        for student in students:
            student.update(rows, totals_for(rows))
    # AdamW alone on the bfloat16 weights rounds nearly all of these steps away.
    naive = build("llama").to(torch.bfloat16)
    optimiser = torch.optim.AdamW(naive.parameters(), lr=1e-5, weight_decay=0.0)
    for parameter in naive.parameters():
        parameter.grad = torch.ones_like(parameter)
    for _ in range(60):
        optimiser.step()
    assert drift(low, start) > 0.8 * drift(full, start)
    assert drift(naive, start) < 0.5 * drift(full, start)
    assert all(parameter.dtype == torch.bfloat16 and parameter.grad is None for parameter in low.parameters())
    assert all(master.dtype == torch.float32 and master.grad is None for master in students[1]._masters.masters)


def test_masters_are_part_of_the_state():
    model = build("llama").to(torch.bfloat16)
    rows = rows_for(build("llama"))
    student = learner(model, lr=1e-5)
    for _ in range(3):
        student.update(rows, totals_for(rows))
    saved, values = copy.deepcopy(student.state_dict()), copy.deepcopy(model.state_dict())
    for _ in range(20):
        student.update(rows, totals_for(rows))
    other = build("llama").to(torch.bfloat16)
    other.load_state_dict(values)
    resumed = learner(other, lr=1e-5)
    resumed.load_state_dict(saved)
    for _ in range(20):
        resumed.update(rows, totals_for(rows))
    assert same(weights(other), weights(model))


def test_float32_weights_are_their_own_masters():
    student = learner(build("llama"))
    assert student.state_dict()["masters"] == {}
    assert all(a is b for a, b in zip(student._masters.parameters, student._masters.masters, strict=True))
