"""FlowRL: the loss, its partition head, and that it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.engine.models import build
from tests.objective.test_learner import learner, rows_for, totals_for
from winnow.errors import ConfigError
from winnow.objective import Objective
from winnow.objective.flow import Partition, flow_loss

FLOW = Objective(flow_beta=15.0, aggregation="sequence")


def test_d10_trajectory_balance() -> None:
    new = torch.full((1, 4), -0.9, dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, dtype=torch.float64)
    terms = flow_loss(
        new, new.detach(), torch.full_like(new, -1.0), 0.5 * one, 0.3 * one, one, torch.tensor([4]), FLOW, 1.0
    )
    assert terms.loss.item() == pytest.approx(50.41)
    terms.loss.backward()
    assert new.grad is not None and new.grad[0].tolist() == pytest.approx([2 * -7.1 / 4] * 4)


def test_padding_never_matters_and_the_weight_of_a_row_is_clipped() -> None:
    torch.manual_seed(0)
    new, old, reference = (torch.randn(3, 5, dtype=torch.float64) for _ in range(3))
    lengths = torch.tensor([5, 2, 4])
    fixed = torch.tensor([1.0, -1.0, 0.0]), torch.zeros(3), torch.ones(3), lengths, FLOW, 3.0
    first = flow_loss(new, old, reference, *fixed)
    for tensor in (new, old, reference):
        tensor[1, 2:] = torch.inf
    assert flow_loss(new, old, reference, *fixed).loss == first.loss
    far = flow_loss(old + 3.0, old, old + 3.0, *fixed)
    assert far.loss.item() == pytest.approx(1.2 * (15**2 + 15**2) / 3)
    assert int(far.clipped) == 11


def test_the_head_learns_the_partition_of_each_prompt_and_moves_no_hidden_state() -> None:
    model = build("llama")
    torch.manual_seed(0)
    head = Partition(model)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.01)
    prompts, goal = [[3, 4, 5], [6, 7]], torch.tensor([2.0, -1.0])
    for _ in range(200):
        optimiser.zero_grad()
        (head(model, prompts) - goal).square().sum().backward()
        optimiser.step()
    assert head(model, prompts).tolist() == pytest.approx(goal.tolist(), abs=0.05)
    assert head(model, prompts[1:]).tolist() == pytest.approx([-1.0], abs=0.05)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_an_update_lowers_the_loss_and_its_state_goes_through_a_checkpoint() -> None:
    model = build("llama")
    rows = [replace(row, advantage=float(np.sign(row.advantage or 1.0)), weight=1.0) for row in rows_for(model)]
    mild = replace(FLOW, flow_beta=1.0)
    student = learner(model, objective=mild, reference=build("llama"), lr=1e-3)
    losses = [student.update(rows, totals_for(rows)).loss for _ in range(8)]
    assert losses[-1] < 0.7 * losses[0], losses
    again = learner(model, objective=mild, reference=build("llama"), lr=1e-3)
    again.load_state_dict(student.state_dict())
    assert torch.equal(*(side._partition(model, [[3, 4]]) for side in (student, again)))


def test_rows_of_a_group_without_signal_train() -> None:
    model = build("llama")
    rows = [replace(row, advantage=0.0) for row in rows_for(model)]
    assert not learner(model, objective=FLOW, reference=build("llama")).update(rows, totals_for(rows)).skipped


def test_what_does_not_go_with_it_is_refused() -> None:
    for wrong in ({"aggregation": "token"}, {"aggregation": "sequence", "kl_beta": 0.1}):
        with pytest.raises(ConfigError, match="one squared term"):
            Objective(flow_beta=15.0, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"flow_beta is 15\.0, which needs a reference"):
        learner(build("llama"), objective=FLOW)
