"""The clipped loss on the worked examples, and its sums over parts of a batch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.conftest import CASES
from winnow.errors import ConfigError
from winnow.objective import Objective, Totals
from winnow.objective.policy_loss import length_mask, policy_loss, surrogate


def loss_of(per_token: list[list[float]], objective: Objective, totals: Totals) -> float:
    """The loss of rows with ratio 1 whose token terms are the given numbers."""
    lengths = torch.tensor([len(row) for row in per_token])
    zeros = torch.zeros(len(per_token), max(1, int(lengths.max())), dtype=torch.float64)
    advantages = torch.tensor([-row[0] if row else 0.0 for row in per_token], dtype=torch.float64)
    terms = policy_loss(
        zeros, zeros, advantages, torch.ones_like(advantages), lengths, objective, objective.divisor(totals)
    )
    return float(terms.loss)


def kept(rows: list[list[float]], full_rows: int = 0, full_tokens: int = 0) -> Totals:
    return Totals(len(rows), sum(map(len, rows)), full_rows, full_tokens)


def test_aggregation_d4() -> None:
    rows = [[-1.0] * 2, [1.0] * 4]
    assert loss_of(rows, Objective(aggregation="sequence"), kept(rows)) == pytest.approx(0.0)
    assert loss_of(rows, Objective(), kept(rows)) == pytest.approx(0.333333, abs=1e-6)
    assert loss_of(rows, Objective(aggregation="constant", constant_length=8), kept(rows)) == 0.125
    assert loss_of(rows, Objective(aggregation="constant", constant_length=1), kept(rows)) == 1.0


@pytest.mark.parametrize(
    ("ratio", "advantage", "high", "dual", "expected", "clipped"),
    [
        (1.25, 1, 0.2, None, 1.20, True),
        (1.25, 1, 0.28, None, 1.25, False),
        (1.5, 1, 0.28, None, 1.28, True),
        (0.7, -1, 0.2, None, -0.8, True),
        (1.5, -1, 0.28, None, -1.5, False),
        (5, -1, 0.28, 3.0, -3.0, True),
        (5, -1, 0.28, 10.0, -5.0, False),
        (12, -1, 0.28, 10.0, -10.0, True),
    ],
)
def test_clipping_d4(
    ratio: float, advantage: float, high: float, dual: float | None, expected: float, clipped: bool
) -> None:
    objective = Objective(clip_high=high, clip_dual=dual)
    value, cut = surrogate(torch.tensor(ratio), torch.tensor(float(advantage)), objective)
    assert float(value) == pytest.approx(expected)
    assert bool(cut) is clipped


@pytest.mark.parametrize("clip_dual", [None, 3.0])
def test_clipped_tokens_have_no_gradient_and_the_others_have(clip_dual: float | None) -> None:
    objective = Objective(clip_dual=clip_dual)
    for ratio in (0.1, 0.7, 0.9, 1.1, 1.3, 5.0):
        for advantage in (-1.0, 1.0):
            variable = torch.tensor(ratio, requires_grad=True)
            value, cut = surrogate(variable, torch.tensor(advantage), objective)
            (gradient,) = torch.autograd.grad(value, variable)
            assert (gradient == 0) == bool(cut), (ratio, advantage)


def test_loss_01_micro_batches_add_up() -> None:
    case = CASES["LOSS-01"]
    rows = [[part["per_token_loss"]] * part["tokens"] for part in case["input"]["micro_batches"]]
    totals = kept(rows)
    whole = loss_of(rows, Objective(), totals)
    parts = sum(loss_of([row], Objective(), totals) for row in rows)
    assert whole == pytest.approx(case["expected"]["loss"], abs=1e-6)
    assert parts == pytest.approx(whole)


def test_loss_03_a_masked_row_leaves_numerator_and_denominator() -> None:
    case = CASES["LOSS-03"]["input"]
    lengths = zip(case["token_counts"], case["truncated"], strict=True)
    rows = [[case["per_token_loss"]] * count for count, truncated in lengths if not truncated]
    assert loss_of(rows, Objective(), kept(rows)) == CASES["LOSS-03"]["expected"]["loss"]


def test_loss_05_masks_come_from_lengths() -> None:
    case = CASES["LOSS-05"]
    width = len(case["input"]["completion_ids"])
    mask = length_mask(torch.tensor([case["expected"]["length"]]), width)
    assert mask[0].int().tolist() == case["expected"]["mask"]


def test_loss_08_ratios_are_per_token_and_never_summed_over_a_completion() -> None:
    case = CASES["LOSS-08"]
    gap, tokens = case["input"]["mean_token_logprob_diff"], case["input"]["tokens"]
    one = torch.ones(1)
    terms = policy_loss(
        torch.full((1, tokens), gap), torch.zeros(1, tokens), one, one, torch.tensor([tokens]), Objective(), 1.0
    )
    assert float(terms.ratio) / tokens == pytest.approx(case["expected"]["sequence_ratio_mean"], abs=1e-4)
    assert float(terms.ratio_max) < case["expected"]["sequence_ratio_sum"] and int(terms.clipped) == 0


def test_loss_09_an_outlier_is_clamped_and_counted() -> None:
    gap = CASES["LOSS-09"]["input"]["log_ratio"]
    new = torch.zeros(1, 2, requires_grad=True)
    objective = Objective(kl_beta=1.0, kl_clamp=10.0)
    one = torch.ones(1)
    terms = policy_loss(new, torch.zeros(1, 2), one, one, torch.tensor([2]), objective, 2.0, torch.tensor([[gap, 0.1]]))
    terms.loss.backward()
    assert int(terms.kl_clamped) == 1
    assert float(terms.kl) == pytest.approx(math.expm1(10.0) - 10.0 + math.expm1(0.1) - 0.1)
    assert torch.isfinite(terms.loss) and torch.isfinite(new.grad).all()
    raw = policy_loss(
        new, torch.zeros(1, 2), one, one, torch.tensor([2]), Objective(kl_beta=1.0), 2.0,
        torch.tensor([[gap, 0.0]]),
    )  # fmt: skip
    assert float(raw.kl) == pytest.approx(CASES["LOSS-09"]["expected"]["raw"], rel=1e-6)


@pytest.mark.parametrize("aggregation", ["token", "sequence", "constant"])
@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_any_split_gives_the_same_loss_and_gradient(aggregation: str, parts: int) -> None:
    generator = torch.Generator().manual_seed(parts)
    rows, width = 8, 6
    new = torch.randn(rows, width, dtype=torch.float64, generator=generator, requires_grad=True)
    old, reference = new.detach() + 0.3, new.detach() - 0.2
    lengths = torch.tensor([6, 1, 0, 3, 5, 2, 6, 4])
    advantages = torch.randn(rows, dtype=torch.float64, generator=generator)
    weights = torch.rand(rows, dtype=torch.float64, generator=generator)
    objective = Objective(aggregation=aggregation, constant_length=7, kl_beta=0.1)  # type: ignore[arg-type]
    divisor = objective.divisor(Totals(rows, int(lengths.sum()), 0, 0))

    def loss(index: torch.Tensor) -> torch.Tensor:
        return policy_loss(
            new[index], old[index], advantages[index], weights[index], lengths[index], objective, divisor,
            reference[index],
        ).loss  # fmt: skip

    whole = loss(torch.arange(rows))
    (expected,) = torch.autograd.grad(whole, new)
    pieces = [loss(index) for index in torch.arange(rows).tensor_split(parts)]
    (gradient,) = torch.autograd.grad(sum(pieces), new)
    torch.testing.assert_close(gradient, expected, atol=1e-12, rtol=0)
    assert float(sum(pieces).detach()) == pytest.approx(float(whole.detach()))


def test_padding_never_matters() -> None:
    lengths, one = torch.tensor([2, 3]), torch.tensor([1.0, -1.0])
    clean = torch.full((2, 3), -1.0)
    dirty = clean.clone()
    dirty[0, 2] = math.inf
    for objective in (Objective(), Objective(aggregation="sequence")):
        results = [
            policy_loss(x.requires_grad_(), clean.detach(), one, one, lengths, objective, 5.0)
            for x in (clean.clone(), dirty.clone())
        ]
        assert float(results[0].loss.detach()) == float(results[1].loss.detach())
        assert float(results[0].ratio) == float(results[1].ratio) == pytest.approx(5.0)


def test_full_denominator_counts_what_was_generated() -> None:
    totals = Totals(kept_rows=2, kept_tokens=6, full_rows=8, full_tokens=40)
    for aggregation, expected in (("token", (6, 40)), ("sequence", (2, 8)), ("constant", (20, 80))):
        for denominator, divisor in zip(("kept", "full"), expected, strict=True):
            objective = Objective(aggregation=aggregation, denominator=denominator, constant_length=10)  # type: ignore[arg-type]
            assert objective.divisor(totals) == divisor


def test_weights_multiply_the_loss_of_their_row() -> None:
    new = torch.zeros(2, 2, requires_grad=True)
    weights = torch.tensor([1.0, 3.0])
    terms = policy_loss(new, torch.zeros(2, 2), torch.ones(2), weights, torch.tensor([2, 2]), Objective(), 4.0)
    terms.loss.backward()
    np.testing.assert_allclose(new.grad, [[-0.25, -0.25], [-0.75, -0.75]])


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"clip_low": -0.1}, "clip_low"),
        ({"clip_low": 1.5}, "clip_low"),
        ({"clip_high": -1.0}, "clip_high"),
        ({"clip_high": math.nan}, "clip_high"),
        ({"clip_dual": 1.0}, "clip_dual"),
        ({"ratio": "sequence"}, "allowed: geometric, token"),
        ({"ratio": "geometric"}, 'use aggregation="sequence"'),
        ({"aggregation": "tokens"}, "did you mean 'token'"),
        ({"denominator": "all"}, "allowed: full, kept"),
        ({"constant_length": 0}, "constant_length"),
        ({"kl_beta": -1.0}, "kl_beta"),
        ({"kl_clamp": 0.0}, "kl_clamp"),
        ({"kl_clamp": 100.0}, "kl_clamp"),
    ],
)
def test_bad_settings(settings: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        Objective(**settings)  # type: ignore[arg-type]


def test_constant_aggregation_needs_its_length() -> None:
    with pytest.raises(ConfigError, match="constant_length"):
        Objective(aggregation="constant").divisor(Totals(1, 1, 1, 1))


def test_a_loss_needs_a_divisor_and_a_divergence_its_reference() -> None:
    zeros, one = torch.zeros(1, 1), torch.ones(1)
    with pytest.raises(ValueError, match="divisor"):
        policy_loss(zeros, zeros, one, one, torch.tensor([1]), Objective(), 0.0)
    with pytest.raises(ValueError, match="reference"):
        policy_loss(zeros, zeros, one, one, torch.tensor([1]), Objective(kl_beta=0.1), 1.0)


def test_the_settings_need_no_torch() -> None:
    import subprocess
    import sys

    code = "import sys; from winnow.objective import Objective; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("advantage", "value"), [(1.0, 0.975310), (-1.0, -1.077884), (0.5, 0.487655), (0.0, 0.0)])
def test_d5_the_geometric_mean_of_clipped_ratios(advantage: float, value: float) -> None:
    objective = Objective(ratio="geometric", clip_low=0.4, clip_high=0.4, aggregation="sequence")
    new = torch.tensor([[0.6, -0.6, 0.1, 0.0, 9.0]], dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, dtype=torch.float64)
    terms = policy_loss(new, torch.zeros_like(new), advantage * one, one, torch.tensor([4]), objective, 1.0)
    assert -terms.loss.item() == pytest.approx(value, abs=1e-6)
    terms.loss.backward()
    free = [False, True, True, True, False] if advantage > 0 else [True, False, True, True, False]
    assert new.grad is not None and new.grad[0, 4] == 0
    if advantage:
        assert (new.grad[0] != 0).tolist() == free
        assert new.grad[0][free] == pytest.approx(-value / 4, abs=1e-6)
        assert int(terms.clipped) == 1


def test_on_policy_the_geometric_mean_has_the_gradient_of_the_sequence_mean() -> None:
    torch.manual_seed(0)
    old = torch.randn(3, 5, dtype=torch.float64)
    lengths, advantages = torch.tensor([5, 2, 4]), torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    gradients = []
    for ratio in ("token", "geometric"):
        new = old.clone().requires_grad_()
        objective = Objective(ratio=ratio, aggregation="sequence")  # type: ignore[arg-type]
        policy_loss(new, old, advantages, torch.ones(3), lengths, objective, 3.0).loss.backward()
        gradients.append(new.grad)
    assert torch.allclose(*gradients)  # type: ignore[arg-type]


def test_advantages_per_token_train_each_token_with_its_own() -> None:
    new = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    advantages = torch.tensor([[1.0, -2.0, 7.0], [0.0, 3.0, 1.0]], dtype=torch.float64)
    rest = torch.zeros_like(new), advantages, torch.ones(2), torch.tensor([2, 3])
    policy_loss(new, *rest, Objective(), 5.0).loss.backward()
    assert new.grad is not None
    assert torch.allclose(new.grad * -5, torch.tensor([[1.0, -2.0, 0.0], [0.0, 3.0, 1.0]], dtype=torch.float64))
    with pytest.raises(ValueError, match="one term per row"):
        policy_loss(new, *rest, Objective(ratio="geometric", aggregation="sequence"), 5.0)
